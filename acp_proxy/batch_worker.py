"""What forks the workers of a batch: ``python -m acp_proxy.batch_worker COMMAND [CHANNEL]``.

Without a channel it is one worker, which reads its jobs from standard input.
"""

import sys

if __name__ == "__main__":
    from acp_proxy.batches.job_server import serve, serve_alone
    from acp_proxy.cli.batch_jobs import prepare

    perform = prepare(sys.argv[1])
    if len(sys.argv) > 2:
        serve(int(sys.argv[2]), perform)
    serve_alone(perform)
