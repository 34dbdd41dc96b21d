"""The main job, shown: ``make demo`` walks the road of the journeys and tells what happens and how fast."""
