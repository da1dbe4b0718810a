/**
 * Turns of calls and timers. While the callback of a timer runs, or a call, other calls that may continue
 * wait for their turn, in the order in which they were woken. Promises do the same in production. So calls
 * never nest, and events have the same order as there.
 */
interface Job {
	proceed(): void
}

const jobs: Job[] = []
let isBusy = false

/** Runs it when the current turn is over; immediately if there is none. */
export function runLater(job: Job): void {
	jobs.push(job)
	if (beginTurn()) endTurn()
}

/** Returns true if no turn was in progress. The caller must then call `endTurn`. */
export function beginTurn(): boolean {
	if (isBusy) return false
	isBusy = true
	return true
}

export function endTurn(): void {
	// Most turns wake no call.
	if (jobs.length === 0) {
		isBusy = false
		return
	}
	try {
		for (let next = jobs.shift(); next; next = jobs.shift()) next.proceed()
	} finally {
		isBusy = false
	}
}
