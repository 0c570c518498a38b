"""Moving model pools from one allocation path to another, in stages that take themselves back."""
