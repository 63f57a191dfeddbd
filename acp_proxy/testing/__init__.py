"""The parts of the pytest plugin, which import little until a test asks for an agent."""
