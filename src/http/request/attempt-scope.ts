/**
 * One attempt, from the request until its body has been read. In core an attempt ends when the operation returns; a response returns
 * before its body has arrived, and the timeout must cover the body. To save allocations, one object per attempt has four roles: the scope
 * inside the timeout, the timeout's entry, the observer of the body, and the record that `explain` finds by the response.
 */
import type { BoundLayer, Call } from '../../core/engine/call.ts'
import type { CallOptions } from '../../core/engine/call-options.ts'
import { interrupt } from '../../core/engine/interrupt.ts'
import type { ObservableLayer } from '../../core/engine/policy.ts'
import { type Scope, type SignalLink, scopeSignal } from '../../core/engine/scope.ts'
import { type AttemptEntry, type CallRecord, findRecord } from '../../core/explain/record.ts'
import type { CancelTimer } from '../../core/runtime/runtime.ts'
import type { TimeoutEntry, TimeoutList } from '../../core/runtime/timeout-list.ts'
import type { Origin } from '../origin/origin.ts'
import { originOf } from '../origin/origin-parser.ts'
import type { CountBytes, ReportProgress } from '../transport/prepared-request.ts'
import type { RedirectObserver } from '../transport/redirect.ts'
import { type BodyObserver, type HttpResponse, isObservable } from '../transport/transport.ts'
import type { AttemptTimeouts } from './attempt-timeouts.ts'
import { CallerLink } from './caller-link.ts'
import type { RedirectOutcome } from './redirect-circuits.ts'

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

/** The layer that starts attempts. */
export interface AttemptOwner extends Pick<ObservableLayer, 'emit'> {
	readonly origin: Origin
	/** Asks the circuits and the pause of another origin before a redirect to it is followed: see `RedirectObserver`. */
	enterRedirect(
		call: Call,
		scope: AttemptScope,
		url: string,
		signal: AbortSignal | undefined,
	): Promise<void> | undefined
	/** Creates the error of an attempt that timed out; `isTotal` if the whole call timed out, `isUnread` if its body was not read until then. */
	createTimeoutError(call: Call, bound: BoundLayer, isTotal: boolean, isUnread: boolean): unknown
}

export class AttemptScope implements Scope, TimeoutEntry, BodyObserver, RedirectObserver, CallRecord {
	before: TimeoutEntry | undefined
	after: TimeoutEntry | undefined
	list: TimeoutList | undefined
	startedAt: number | undefined
	link: SignalLink | undefined
	/** The outer scope; undefined after the head has arrived or the attempt has failed. */
	outer: Scope | undefined
	/** Dropped after a call without failures: a response may live long and would keep the call alive. */
	call: Call | undefined
	readonly pipeline: CallRecord['pipeline']
	readonly bound: BoundLayer
	/** The list of its timeout until the head arrives. */
	timeouts: AttemptTimeouts | undefined
	/** A separate timer if less time is left than the timeout of an attempt. */
	timer: CancelTimer | undefined
	readonly #owner: AttemptOwner
	/** The origin that a redirect led to, empty if it is unknown; undefined without a redirect. */
	redirectedTo: string | undefined
	/** What the circuit of the last redirect to another origin counts. */
	redirect: RedirectOutcome | undefined
	/** True if another origin received a request that is unsafe to repeat, without its idempotency key. */
	isKeyLost = false
	/** True after the request was sent: not while its body or a hook is pending. */
	isSent = false
	/** True if the server has responded, whatever the error says. */
	hasResponse = false
	/** True if a hook of the user threw. */
	hasHookThrown = false
	/** Set until the body has been read. */
	response: HttpResponse | undefined
	#callerLink: CallerLink | undefined
	#isRefreshing = false
	/** True if the body is read by `text()` or a similar method. A stream that the caller reads has no timeout. */
	#isReadByMethod = false
	/** The timeout error, if it occurred while the body was read. */
	#timeout: { readonly error: unknown } | undefined

	constructor(call: Call, bound: BoundLayer, owner: AttemptOwner) {
		this.call = call
		this.pipeline = call.pipeline
		this.bound = bound
		this.outer = call.scope
		this.#owner = owner
	}

	get abortsItself(): boolean {
		return true
	}

	/** Returns the signal of this attempt. The caller's abort triggers it too, also while the body is read. */
	connect(): AbortSignal {
		// Mostly nothing around the attempt aborts it, so a controller suffices: a link costs four more objects.
		if (!this.outer?.abortsItself) this.link ??= new AbortController()
		const signal = scopeSignal(this)
		const caller = this.call?.options?.signal
		if (caller && this.link) this.#callerLink = new CallerLink(caller, this.link)
		return signal
	}

	/** Without the caller's signal, which is linked separately, because it applies to the body too. */
	abortedBy(): CallOptions | undefined {
		const { outer } = this
		return outer?.abortsItself ? { signal: scopeSignal(outer) } : undefined
	}

	expire(): void {
		const { call, bound, outer, link } = this
		if (!call) return
		// The caller has aborted, or has taken over the stream.
		const isOver =
			call.options?.signal?.aborted ||
			(!this.#isReadByMethod && this.response && isStreamTaken(this.response))
		if (!outer && isOver) {
			this.onHandOver()
			return
		}
		const error = this.#owner.createTimeoutError(call, bound, this.timer !== undefined, this.#isUnread)
		if (outer) interrupt(call, bound, this, error, 'timeout')
		else {
			this.#timeout = { error }
			this.release()
			link?.abort?.(error)
		}
	}

	/** True if the call has succeeded, and its body is not being read. The reads of an adapter's body are not visible here. */
	get #isUnread(): boolean {
		const { outer, response } = this
		return !outer && !this.#isReadByMethod && response !== undefined && !isObservable(response)
	}

	/** The head has arrived, or the attempt has failed. */
	onHead(): void {
		this.outer = undefined
		this.timeouts?.onHead()
		this.timeouts = undefined
		this.timer?.keepAlive?.(false)
		// An abort of the outer scope no longer applies: a hedge aborts the losers and not this response.
		this.link?.unlink?.()
	}

	get idempotencyHeader(): string {
		return this.#owner.origin.settings.idempotencyHeader
	}

	onRedirect(url: string | undefined, isKeyLost: boolean, signal?: AbortSignal): Promise<void> | undefined {
		const { call, redirect } = this
		this.redirectedTo = originOf(url ?? '')
		this.isKeyLost ||= isKeyLost
		// The previous target has responded.
		if (redirect) redirect.result = true
		return url && call && this.isForeign ? this.#owner.enterRedirect(call, this, url, signal) : undefined
	}

	onRefresh(isPending: boolean): void {
		this.#isRefreshing = isPending
	}

	/** True if a redirect led to another origin: its failures, pauses and quotas are not those of the first. */
	get isForeign(): boolean {
		return (
			this.#isRefreshing || (this.redirectedTo !== undefined && this.redirectedTo !== this.#owner.origin.name)
		)
	}

	/** Returns the origin that sent this response. Undefined if the client keeps no state for it. */
	respondent(response: HttpResponse): Origin | undefined {
		if (response.redirected) this.redirectedTo = originOf(response.url)
		return this.#owner.origin.respondent(this.redirectedTo)
	}

	/** Returns a function that emits the progress of a download; undefined without a listener, or if the response has failed. */
	progressOf({ ok, headers }: HttpResponse, report: ReportProgress | undefined): CountBytes | undefined {
		const { call } = this
		return ok && call && this.#owner.emit ? report?.(this.#owner, call, this.bound, headers) : undefined
	}

	/** Extends the scope until the body of the response has been read. */
	extend(response: HttpResponse): void {
		this.response = response
		// Without a timeout, nothing else ends the link if the caller drops the response.
		if (!this.list && !this.timer) this.#unlinkAfter(bodyOf(response))
	}

	/** Releases timer and listeners. */
	release(): void {
		this.#callerLink?.unlink()
		this.#callerLink = undefined
		this.#releaseTimer()
	}

	#unlinkAfter(stream: object | null): void {
		if (stream) this.#callerLink?.unlinkAfter(stream)
	}

	#releaseTimer(): void {
		this.list?.remove(this)
		this.timer?.()
		this.timer = undefined
		this.link = undefined
		this.response = undefined
		const { call } = this
		if (call && !call.lastAttempt && call.options?.name === undefined) this.call = undefined
	}

	onReadStart(): void {
		this.#isReadByMethod = true
	}

	onEnd(error?: unknown): unknown {
		this.release()
		return this.#timeout ? this.#timeout.error : error
	}

	onHandOver(stream: object | null = this.response ? bodyOf(this.response) : null): void {
		this.#unlinkAfter(stream)
		this.#releaseTimer()
	}

	get options(): CallOptions | undefined {
		return this.call?.options
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

/** Returns what lives as long as the body: its stream or, if that is created on first use, a response that its stream references. */
const bodyOf = (response: HttpResponse): object | null => (isObservable(response) ? response : response.body)

/** Returns true if the caller reads or has read the stream itself. */
const isStreamTaken = (response: HttpResponse): boolean =>
	!isObservable(response) && (response.bodyUsed || response.body?.locked === true)

/** Returns the attempt whose response this is. */
export function attemptOf(response: object): AttemptScope | undefined {
	const record = findRecord(response)
	return record instanceof AttemptScope ? record : undefined
}
