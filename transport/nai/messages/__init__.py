"""Messages with timers at their sender: queues, contest, departure."""
