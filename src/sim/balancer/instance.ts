import type { Failure } from '../model/failures.ts'
import type { Receiver, Request, RequestObserver } from '../model/request.ts'

/** One process of a service, as the load balancer sees it: it counts what it has sent and what has come back. */
export class Instance implements RequestObserver {
	readonly #server: Receiver
	readonly #onFailure: (instance: Instance) => void
	/** Requests without a response whose callers still wait. */
	outstanding = 0
	requests = 0
	failures = 0
	/** Failures since the last success. */
	consecutiveFailures = 0
	ejections = 0
	/** Gets no requests before this time. */
	ejectedUntil = 0
	/** True: it is about to restart. */
	isDraining = false
	/** True: it is not needed, finishes what it has and stops. */
	isLeaving = false

	constructor(server: Receiver, onFailure: (instance: Instance) => void) {
		this.#server = server
		this.#onFailure = onFailure
	}

	acceptsAt(now: number): boolean {
		return !this.isLeaving && !this.isDraining && this.ejectedUntil <= now
	}

	send(request: Request): void {
		this.requests++
		this.outstanding++
		request.observer = this
		this.#server.send(request)
	}

	ended(failure: Failure | undefined): void {
		this.outstanding--
		if (failure !== undefined && isOwnFailure(failure)) this.#fail()
		else this.consecutiveFailures = 0
	}

	aborted(): void {
		this.outstanding--
		this.#fail()
	}

	#fail(): void {
		this.failures++
		this.consecutiveFailures++
		this.#onFailure(this)
	}
}

/** A status below 500 is the fault of the request. */
const isOwnFailure = (failure: Failure): boolean => !('statusCode' in failure) || failure.statusCode >= 500
