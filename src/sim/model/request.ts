import type { Deadline } from '../../core/deadline/deadline.ts'
import { Call } from '../../core/engine/call.ts'
import type { CallContext } from '../../core/engine/call-options.ts'
import { Context } from '../../core/engine/context.ts'
import type { DoneCallback } from '../../testing/callback-runner.ts'
import type { CallMeter } from '../measure/client-meter.ts'
import type { RequestClassModel } from '../scenario/scenario.ts'
import type { Failure } from './failures.ts'

/** A service, seen by those who send requests to it. */
export interface Receiver {
	/** True if it passes the context of requests on to its dependencies. */
	readonly passesContext: boolean
	send(request: Request): void
}

/** Learns how a request ends, as a load balancer does. */
export interface RequestObserver {
	ended(failure: Failure | undefined): void
	aborted(): void
}

const IGNORE: DoneCallback<unknown> = () => {}
/** A turn that no call has: the call of the request is over. */
const RELEASED = -1

/**
 * One request in flight. Whether its caller still waits is read from the policy's call. An abort listener
 * would cost more than the request.
 */
export class Request {
	/** The context of the attempt, for a service that passes it on; undefined if the client has no policy. */
	readonly context: CallContext | undefined
	requestClass: RequestClass | undefined
	arrivedAt = 0
	startedAt = 0
	/** True if its service went down while processing it. */
	isLost = false
	/** Undefined if nothing observes it, and after its end. */
	observer: RequestObserver | undefined
	#previous: Request | undefined
	#done: DoneCallback<unknown>
	#call: Call | undefined
	#turn: number
	/** Stops waiting for the deadline or the signal that may end it early. */
	#cancel: (() => void) | undefined

	constructor(service: Receiver, done: DoneCallback<unknown>, context?: CallContext, previous?: Request) {
		this.context = service.passesContext ? context : undefined
		this.#previous = previous
		this.#done = done
		const call = context instanceof Context ? Context.callOf(context) : undefined
		this.#call = call instanceof Call ? call : undefined
		this.#turn = this.#call?.run ?? 0
	}

	/**
	 * Drops the references of a finished call's requests to the call. Thousands of them sit in the queue of an
	 * overloaded service, and keeping their calls alive took the garbage collector a third of the run time.
	 */
	static release(latest: Request | undefined): void {
		for (let request = latest; request; ) {
			const previous: Request | undefined = request.#previous
			request.#previous = undefined
			if (!request.#isTracked) request.#forget()
			request = previous
		}
	}

	/** Ends it when the deadline expires. The context's signal would too, but creating it costs more than the request. */
	endAtDeadline(deadline: Deadline): void {
		this.#cancel = deadline.onExpiry((error) => this.#endEarly(error))
	}

	/** Ends it as soon as the signal aborts, whatever the service does: callers pass their signal on, as real ones should. */
	endOnAbort(signal: AbortSignal): void {
		const aborted = () => this.#endEarly(signal.reason)
		signal.addEventListener('abort', aborted)
		this.#cancel = () => signal.removeEventListener('abort', aborted)
	}

	#endEarly(error: unknown): void {
		const done = this.#done
		this.abort()
		done(error)
	}

	/** The caller stops waiting: its operation has ended with its signal. */
	abort(): void {
		this.#cancel?.()
		this.#forget()
		this.observer?.aborted()
		this.observer = undefined
	}

	#forget(): void {
		this.#done = IGNORE
		this.#call = undefined
		this.#turn = RELEASED
	}

	/** True if a layer waits for the end of the request after its call is over, such as a bulkhead for its slot. */
	get #isTracked(): boolean {
		return this.#call?.rare?.orphans?.some(({ onEnd }) => onEnd.length > 1) === true
	}

	get isAwaited(): boolean {
		return this.#call === undefined ? this.#turn !== RELEASED : this.#call.run === this.#turn
	}

	end(failure: Failure | undefined): void {
		this.#cancel?.()
		this.observer?.ended(failure)
		this.observer = undefined
		if (failure) this.#done(failure)
		else this.#done()
	}
}

export interface RequestClass {
	readonly name: string
	readonly serviceTimeFactor: number
	readonly priority: number
	readonly meter: CallMeter
}

export function classDraw(
	models: Readonly<Record<string, RequestClassModel>>,
	random: () => number,
	meterOf: (name: string) => CallMeter,
): () => RequestClass {
	let sum = 0
	const classes = Object.entries(models).map(([name, { share, serviceTimeFactor = 1, priority = 0 }]) => {
		sum += share
		return { upTo: sum, requestClass: { name, serviceTimeFactor, priority, meter: meterOf(name) } }
	})
	const last = classes.findLast(({ requestClass }) => (models[requestClass.name]?.share ?? 0) > 0)
	return () => {
		const drawn = random()
		// Shares add up to 1 except for rounding.
		const found = classes.find(({ upTo }) => drawn < upTo) ?? last
		return found?.requestClass as RequestClass
	}
}
