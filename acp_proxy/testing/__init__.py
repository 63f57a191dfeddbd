"""The parts of the pytest plugin. These modules import little until a test requests an agent."""
