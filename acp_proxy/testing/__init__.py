"""The parts of the pytest plugin. They import little until a test asks for an agent."""
