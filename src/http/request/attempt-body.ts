/**
 * The part of an attempt after the head has arrived. In core an attempt ends when the operation returns; a
 * response returns before its body has arrived, and the timeout and the caller's abort must cover the body.
 *
 * The response itself is returned, with another prototype in front of its own: a wrapper would not be a
 * `Response` to other libraries, a stream around the body would cost as much as the request, and methods on
 * each response cost more than a shared prototype.
 */
import type { Call } from '../../core/engine/call.ts'
import type { SignalLink } from '../../core/engine/scope.ts'
import { type AttemptEntry, attachRecord, type CallRecord, findRecord } from '../../core/explain/record.ts'
import { type BodyObserver, type HttpResponse, isObservable } from '../transport/response.ts'
import type { AttemptTimeout, CallerLink } from './attempt-aborts.ts'

/** What aborts an attempt. All of it ends with the body. */
interface AttemptAborts {
	readonly call: Call
	readonly timeout: AttemptTimeout | undefined
	readonly callerLink: CallerLink | undefined
	/** The signal of the attempt. */
	readonly link: SignalLink | undefined
}

/** The record of a call that never failed. No clock was read for it, so it has no times. */
const SUCCESS: AttemptEntry = {
	previous: undefined,
	attempt: 0,
	startedAt: undefined,
	endedAt: 0,
	outcome: 'success',
	error: undefined,
	delayMs: undefined,
	delaySource: undefined,
	queuedMs: undefined,
}

/** Observes the body of a response, and is the record that `explain` finds by the response. */
export class AttemptBody implements BodyObserver, CallRecord {
	readonly pipeline: CallRecord['pipeline']
	/** Undefined after a call without failures and name: a response may live long and would keep it alive. */
	call: Call | undefined
	/** The response and what aborts it. Both are set until the body has been read. */
	#response: HttpResponse | undefined
	#aborts: AttemptAborts | undefined
	#callerLink: CallerLink | undefined
	/** True if `text()` or a similar method reads the body. A stream that the caller reads has no timeout. */
	#isReadByMethod = false
	/** The timeout error, if it occurred while the body was read. */
	#timeoutError: { readonly error: unknown } | undefined

	constructor(response: HttpResponse, aborts: AttemptAborts) {
		this.call = aborts.call
		this.pipeline = aborts.call.pipeline
		this.#response = response
		this.#aborts = aborts
		this.#callerLink = aborts.callerLink
		// The response may come from another resilient fetch; its body now belongs to this call.
		attemptBodyOf(response)?.onHandOver()
		attachRecord(response, this)
		// Without a timeout, nothing else ends the link if the caller drops the response.
		if (!aborts.timeout?.isRunning) this.#unlinkAfter(streamOf(response))
		if (isObservable(response)) response.observe(this)
		else if (response.body) trackBody(response)
		else this.onEnd()
	}

	/** The response if nothing reads its body. The reads of an adapter's body are not visible here. */
	get #unread(): HttpResponse | undefined {
		const response = this.#response
		return this.#isReadByMethod || (response && isObservable(response)) ? undefined : response
	}

	get isUnread(): boolean {
		return this.#unread !== undefined
	}

	/** True if the caller reads or has read the stream itself. */
	get isTaken(): boolean {
		const response = this.#unread
		return response?.bodyUsed || response?.body?.locked === true
	}

	onReadStart(): void {
		this.#isReadByMethod = true
	}

	onEnd(error?: unknown): unknown {
		this.#callerLink?.unlink()
		this.#callerLink = undefined
		this.#stop()
		return this.#timeoutError ? this.#timeoutError.error : error
	}

	onHandOver(stream: object | null = this.#response ? streamOf(this.#response) : null): void {
		this.#unlinkAfter(stream)
		this.#stop()
	}

	onTimeout(error: unknown): void {
		const { link } = this.#aborts ?? {}
		this.#timeoutError = { error }
		this.onEnd()
		link?.abort?.(error)
	}

	#unlinkAfter(stream: object | null): void {
		if (stream) this.#callerLink?.unlinkAfter(stream)
	}

	#stop(): void {
		this.#aborts?.timeout?.stop()
		this.#aborts = this.#response = undefined
		const { call } = this
		if (call && !call.lastAttempt && call.options?.name === undefined) this.call = undefined
	}

	get options(): CallRecord['options'] {
		return this.call?.options
	}

	get startedAt(): number | undefined {
		return this.call?.startedAt
	}

	get rare(): CallRecord['rare'] {
		return this.call?.rare
	}

	get lastAttempt(): AttemptEntry {
		return this.call?.lastAttempt ?? SUCCESS
	}

	get stop(): CallRecord['stop'] {
		return this.call?.stop
	}

	get value(): unknown {
		return this.call?.value
	}
}

/** Returns the observer of the body of a response; undefined if the response is not one of an attempt. */
export function attemptBodyOf(response: object): AttemptBody | undefined {
	const record = findRecord(response)
	return record instanceof AttemptBody ? record : undefined
}

/** Lets `explain` find the whole call by the response, and not the branch of a hedge that won. */
export function attributeResponse(response: HttpResponse, call: Call): void {
	const body = attemptBodyOf(response)
	if (body) body.call = call
}

/** Returns what lives as long as the body: its stream, or a response that creates the stream on first use. */
const streamOf = (response: HttpResponse): object | null =>
	isObservable(response) ? response : response.body

const READ_METHODS = ['text', 'json', 'arrayBuffer', 'blob', 'bytes', 'formData'] as const

/** Keyed by the original prototype: undici and the runtime have different response classes. */
const prototypes = new WeakMap<object, object>()

/** Notifies the observer of this response when its body is read or cloned. */
function trackBody(response: HttpResponse): void {
	const prototype: object = Object.getPrototypeOf(response)
	let tracked = prototypes.get(prototype)
	if (!tracked) {
		tracked = trackedPrototype(prototype)
		prototypes.set(prototype, tracked)
	}
	Object.setPrototypeOf(response, tracked)
}

function trackedPrototype(prototype: object): object {
	const tracked: object = Object.create(prototype)
	const define = (name: string, create: (method: () => unknown) => (this: object) => unknown) => {
		const method: unknown = Reflect.get(prototype, name)
		if (typeof method !== 'function') return
		const value = create(method as () => unknown)
		Object.defineProperty(tracked, name, { configurable: true, writable: true, value })
	}
	for (const name of READ_METHODS) define(name, trackedRead)
	define('clone', trackedClone)
	return tracked
}

/** One async function per method, because a closure per call would cost more memory. */
const trackedRead = (read: () => unknown) =>
	async function (this: object): Promise<unknown> {
		const body = attemptBodyOf(this)
		body?.onReadStart()
		try {
			const value = await read.call(this)
			body?.onEnd()
			return value
		} catch (error) {
			throw body ? body.onEnd(error) : error
		}
	}

const trackedClone = (clone: () => unknown) =>
	function (this: object): unknown {
		attemptBodyOf(this)?.onHandOver()
		return clone.call(this)
	}
