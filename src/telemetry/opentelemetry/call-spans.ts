import type { EventBase } from '../../core/events/events.ts'
import type { AttemptInfo, CallEnd, CallInfo } from '../../core/observe/observer.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import { type HttpAttempt, isHttpAttempt } from '../../http/request/http-attempt.ts'
import type { ObservedSource } from '../observe/exporter.ts'
import type { OtelSpan } from './api.ts'
import {
	methodOf,
	type RequestResult,
	requestAttributes,
	requestName,
	requestResult,
	resultAttributes,
	ServerAddresses,
} from './http-request.ts'
import type { OtelMetrics } from './metrics.ts'
import type { OpenTelemetrySettings } from './options.ts'
import { spanEventOf } from './span-events.ts'
import type { StartedSpan, Tracing } from './tracing.ts'
import { type Ended, watchResult } from './watch-result.ts'

const ATTEMPT = 'attempt'
/** The kind of a span is INTERNAL by default. */
const INTERNAL = {}

/** A span for each call, and a child span for each attempt. */
export class CallSpans {
	readonly #tracing: Tracing
	readonly #metrics: OtelMetrics | undefined
	readonly #settings: OpenTelemetrySettings
	readonly #servers = new ServerAddresses()
	/** The spans of calls in flight. There are none without an SDK, or if spans are off. */
	readonly #open = new Map<StartedSpan, ObservedSource>()
	readonly #calls = new WeakMap<OtelSpan, CallInfo>()

	constructor(tracing: Tracing, metrics: OtelMetrics | undefined, settings: OpenTelemetrySettings) {
		this.#tracing = tracing
		this.#metrics = metrics
		this.#settings = settings
	}

	call(source: ObservedSource, info: CallInfo, next: () => unknown): unknown {
		const started = this.#tracing.start(source.serviceOf(info), INTERNAL)
		if (!started) return next()
		info.state.set(this, started)
		if (started.isRecording) this.#calls.set(started.span, info)
		this.#open.set(started, source)
		return this.#tracing.run(started, next)
	}

	hasSpan(info: CallInfo | undefined): boolean {
		return info !== undefined && this.#startedSpan(info) !== undefined
	}

	/** Returns false if no SDK is registered: then there is nothing to do for an attempt. */
	wantsAttempts({ kind }: ObservedSource, info: CallInfo): boolean {
		return this.hasSpan(info) || (kind === 'http' && this.#metrics?.isActive === true)
	}

	endCall(end: CallEnd): void {
		const started = end.info && this.#startedSpan(end.info)
		if (!started) return
		this.#open.delete(started)
		this.#tracing.end(started, (span) => this.#describeCall(span, end))
	}

	/** Ends the open spans of a source that is no longer observed. A span without an end is lost. */
	endAll(source: ObservedSource): void {
		for (const [started, owner] of this.#open)
			if (owner === source) {
				this.#open.delete(started)
				this.#tracing.end(started, () => {})
			}
	}

	/**
	 * Adds an event to the span of its call. The call is the one whose span is active, if it has the event's
	 * id: a call that leaves a queue may be resumed by another one, in whose context its events are emitted
	 * then. Such events are left out.
	 */
	addEvent(event: EventBase): void {
		const tracing = this.#tracing
		if (this.#open.size === 0 || event.callId === undefined) return
		const described = spanEventOf(event)
		if (!described) return
		tracing.guard('event', 'an event could not be added to a span', () => {
			const { api } = tracing
			const span = api.trace.getSpan(api.context.active())
			if (span && this.#calls.get(span)?.id === event.callId)
				tracing.addEvent(span, described.name, described.attributes)
		})
	}

	attempt(info: AttemptInfo, next: () => unknown): unknown {
		const http = isHttpAttempt(info.extension) ? info.extension : undefined
		const call = this.#startedSpan(info.call)
		const { attempts, propagate } = this.#settings
		const started = attempts && call ? this.#startAttempt(info, http, call) : undefined
		const passedOn = started ?? call
		if (http && passedOn && propagate) this.#addTraceContext(http, passedOn)
		const isMeasured = attempts && http !== undefined && this.#metrics?.isActive === true
		// A span that is not recorded needs no end.
		if (!started?.isRecording && !isMeasured) return this.#tracing.run(started, next)
		const startedAt = isMeasured ? systemRuntime.now() : 0
		return watchResult(
			() => this.#tracing.run(started, next),
			(ended) => {
				const result = http && requestResult(ended)
				if (isMeasured && http && result) this.#recordRequest(info, http, result, startedAt)
				if (started) this.#endAttempt(started, ended, result)
			},
		)
	}

	#startedSpan(info: CallInfo): StartedSpan | undefined {
		if (this.#open.size === 0) return undefined
		const started = info.state.get(this) as StartedSpan | undefined
		return started && this.#open.has(started) ? started : undefined
	}

	#startAttempt(info: AttemptInfo, http: HttpAttempt | undefined, call: StartedSpan) {
		const { attempt, resendCount, hedge } = info
		const tracing = this.#tracing
		const own = { 'yaoki.attempt': attempt, ...(hedge > 0 && { 'yaoki.hedge.number': hedge }) }
		if (!http) return tracing.start(ATTEMPT, { attributes: own }, call.context)
		const server = this.#servers.of(info.call.key ?? http.url)
		const attributes = { ...requestAttributes(http, server, resendCount), ...own }
		const kind = tracing.api.SpanKind.CLIENT
		return tracing.start(requestName(http.method), { kind, attributes }, call.context)
	}

	/** The user's own `traceparent` belongs to another trace: nothing may be added to it. */
	#addTraceContext(http: HttpAttempt, { context }: StartedSpan): void {
		const tracing = this.#tracing
		tracing.guard('inject', 'the trace context could not be added to a request', () => {
			if (http.hasHeader('traceparent')) return
			const all = Object.entries(tracing.headersOf(context))
			const headers = all.filter(([name]) => !http.hasHeader(name.toLowerCase()))
			if (headers.length > 0) http.addHeaders(Object.fromEntries(headers))
		})
	}

	#endAttempt(started: StartedSpan, ended: Ended, result: RequestResult | undefined): void {
		this.#tracing.end(started, (span) => {
			if (result) span.setAttributes(resultAttributes(result))
			const hasFailed = result ? result.errorType !== undefined : 'error' in ended
			if (!hasFailed) return
			const error = 'error' in ended ? ended.error : undefined
			this.#tracing.fail(span, error, result?.errorType, result?.status === undefined)
		})
	}

	#recordRequest(info: AttemptInfo, http: HttpAttempt, result: RequestResult, startedAt: number): void {
		const { address, port } = this.#servers.of(info.call.key ?? http.url)
		const method = methodOf(http.method)
		const key = `${method}\n${address}\n${port}\n${result.status}\n${result.errorType}`
		const seconds = (systemRuntime.now() - startedAt) / 1_000
		this.#metrics?.record('http.client.request.duration', seconds, key, () => ({
			'http.request.method': method,
			'server.address': address,
			'server.port': port,
			...resultAttributes(result),
		}))
	}

	#describeCall(span: OtelSpan, end: CallEnd): void {
		const tracing = this.#tracing
		tracing.setAttributes(span, {
			'yaoki.emitter': end.emitter,
			...(end.key !== undefined && { 'yaoki.key': end.key }),
			...(end.call !== undefined && { 'yaoki.call': end.call }),
			'yaoki.outcome': end.outcome,
			'yaoki.attempts': end.attempts,
			'yaoki.retries': end.retries,
			...(end.queuedMs > 0 && { 'yaoki.queued_ms': end.queuedMs }),
			...(end.backoffMs > 0 && { 'yaoki.backoff_ms': end.backoffMs }),
		})
		if (end.outcome !== 'failure' && end.outcome !== 'rejected') return
		tracing.fail(span, end.error)
		if (end.outcome === 'failure') tracing.recordException(span, end.error)
	}
}
