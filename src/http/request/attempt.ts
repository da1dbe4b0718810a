/**
 * One attempt, from the request until its body has been read: the scope inside its timeout, and where
 * redirects have led. Its other parts are its timeout (attempt-aborts.ts), and its body with the record that
 * `explain` finds by the response (attempt-body.ts).
 */
import type { BoundLayer, Call } from '../../core/engine/call.ts'
import type { CallContext, CallOptions } from '../../core/engine/call-options.ts'
import { Context } from '../../core/engine/context.ts'
import { interrupt } from '../../core/engine/interrupt.ts'
import type { ObservableLayer } from '../../core/engine/policy.ts'
import { type Scope, type SignalLink, scopeSignal } from '../../core/engine/scope.ts'
import type { Origin } from '../origin/origin.ts'
import { originOf } from '../origin/origin-parser.ts'
import type { RedirectObserver } from '../transport/redirect.ts'
import type { CountBytes, HttpResponse, ReportProgress } from '../transport/response.ts'
import { type AttemptTimeout, CallerLink } from './attempt-aborts.ts'
import { AttemptBody } from './attempt-body.ts'
import type { RedirectOutcome } from './redirect-circuits.ts'

/** The layer that starts attempts. */
export interface AttemptOwner extends Pick<ObservableLayer, 'emit'> {
	readonly origin: Origin
	/** Asks the circuits and the pause of another origin before a redirect to it: see `RedirectObserver`. */
	enterRedirect(attempt: Attempt, url: string, signal: AbortSignal | undefined): Promise<void> | undefined
	/** Creates the timeout error. `isTotal`: the whole call timed out. `isUnread`: nothing reads the body. */
	createTimeoutError(attempt: Attempt, isTotal: boolean, isUnread: boolean): unknown
}

export class Attempt implements Scope, RedirectObserver {
	readonly call: Call
	readonly bound: BoundLayer
	readonly #owner: AttemptOwner
	/** The outer scope; undefined after the head has arrived or the attempt has failed. */
	outer: Scope | undefined
	link: SignalLink | undefined
	timeout: AttemptTimeout | undefined
	callerLink: CallerLink | undefined
	#body: AttemptBody | undefined
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
	#isRefreshing = false

	constructor(call: Call, bound: BoundLayer, owner: AttemptOwner) {
		this.call = call
		this.bound = bound
		this.#owner = owner
		this.outer = call.scope
	}

	/** Returns the attempt that starts with this context. Each request of a hedge is its own call. */
	static of(context: CallContext): Attempt {
		return (Context.callOf(context) as Call).scope as Attempt
	}

	get abortsItself(): boolean {
		return true
	}

	/** The caller's signal is not part of it: it is linked separately, because it applies to the body too. */
	abortedBy(): CallOptions | undefined {
		const { outer } = this
		return outer?.abortsItself ? { signal: scopeSignal(outer) } : undefined
	}

	/** Returns the signal of this attempt. The caller's abort triggers it too, also while the body is read. */
	connect(): AbortSignal {
		// Mostly nothing around the attempt aborts it, so a controller suffices: a link costs four more objects.
		if (!this.outer?.abortsItself) this.link ??= new AbortController()
		const signal = scopeSignal(this)
		const caller = this.call.options?.signal
		if (caller && this.link) this.callerLink = new CallerLink(caller, this.link)
		return signal
	}

	/** The timeout has expired, before or after the head has arrived. */
	expire(isTotal: boolean): void {
		const { call, bound } = this
		const body = this.#body
		if (body && (call.isAborted || body.isTaken)) {
			body.onHandOver()
			return
		}
		const error = this.#owner.createTimeoutError(this, isTotal, body?.isUnread === true)
		if (body) body.onTimeout(error)
		else interrupt(call, bound, this, error, 'timeout')
	}

	/** The head has arrived, or the attempt has failed without a response. */
	onHead(response: HttpResponse | undefined): void {
		this.outer = undefined
		this.timeout?.onHead()
		// An abort of the outer scope no longer applies: a hedge aborts the losers and not this response.
		this.link?.unlink?.()
		if (response) this.#body = new AttemptBody(response, this)
		else {
			this.callerLink?.unlink()
			this.timeout?.stop()
		}
	}

	get idempotencyHeader(): string {
		return this.#owner.origin.settings.idempotencyHeader
	}

	onRedirect(url: string | undefined, isKeyLost: boolean, signal?: AbortSignal): Promise<void> | undefined {
		const { redirect } = this
		this.redirectedTo = originOf(url ?? '')
		this.isKeyLost ||= isKeyLost
		// The previous target has responded.
		if (redirect) redirect.result = true
		// A `fetch` that ignores its signal may follow a redirect after the attempt has ended.
		return url && this.outer && this.isForeign ? this.#owner.enterRedirect(this, url, signal) : undefined
	}

	onRefresh(isPending: boolean): void {
		this.#isRefreshing = isPending
	}

	/** True if a redirect led to another origin: its failures and pauses do not concern the first one. */
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

	/** Returns a function that emits the progress of a download; undefined if nothing listens. */
	progressOf({ ok, headers }: HttpResponse, report: ReportProgress | undefined): CountBytes | undefined {
		return ok && this.#owner.emit ? report?.(this.#owner, this.call, this.bound, headers) : undefined
	}
}
