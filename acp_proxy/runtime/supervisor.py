def supervise(relay, options):
    import time
    time.sleep(1e9)
