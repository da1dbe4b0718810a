import { describeError } from '../../core/events/error-facts.ts'
import type { ProblemReports } from '../observe/report.ts'
import type { Redactor } from '../redact/redactor.ts'
import type {
	OpenTelemetryApi,
	OtelContext,
	OtelSpan,
	OtelSpanContext,
	OtelSpanOptions,
	OtelTracer,
	OtelTracerProvider,
} from './api.ts'
import { errorTypeOf, exceptionOf } from './errors.ts'

/** The name of the tracer and of the meter. */
export const SCOPE = 'yaoki'

export interface StartedSpan {
	readonly span: OtelSpan
	/** The context in which the span is active. */
	readonly context: OtelContext
	/** False if the sampler left the span out: its context is still passed on. */
	readonly isRecording: boolean
}

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/
const HEADER_VALUE = /^[\t\x20-\x7e]*$/
const NO_TRACE = '00000000000000000000000000000000'

const isInvalid = (api: OpenTelemetryApi, context: OtelSpanContext): boolean =>
	context.traceId === NO_TRACE || !api.isSpanContextValid(context)

/** The tracer, with every access guarded: an error of an SDK is reported once and does not reach the call. */
export class Tracing {
	readonly api: OpenTelemetryApi
	/** False: no span is started. */
	readonly isOn: boolean
	readonly #reports: ProblemReports
	readonly #redactor: Redactor
	#provider: OtelTracerProvider | undefined
	#tracer: OtelTracer | undefined

	constructor(api: OpenTelemetryApi, isOn: boolean, reports: ProblemReports, redactor: Redactor) {
		this.api = api
		this.isOn = isOn
		this.#reports = reports
		this.#redactor = redactor
	}

	/**
	 * Starts a span, by default as a child of the active one. Returns undefined if spans are off, without an SDK
	 * and a parent, or if the SDK failed.
	 */
	start(name: string, options: OtelSpanOptions, parent?: OtelContext): StartedSpan | undefined {
		const { api } = this
		if (!this.isOn) return undefined
		try {
			const context = parent ?? api.context.active()
			const attributes = options.attributes && this.#redactor.fields(options.attributes)
			const span = this.#currentTracer().startSpan(
				name,
				attributes ? { ...options, attributes } : options,
				context,
			)
			const isRecording = span.isRecording()
			// The comparison is for the case without an SDK: `isSpanContextValid` checks each digit.
			if (!isRecording && isInvalid(api, span.spanContext())) return undefined
			return { span, context: api.trace.setSpan(context, span), isRecording }
		} catch (error) {
			this.report('start', 'a span could not be started', error)
			return undefined
		}
	}

	/** Runs `next` exactly once, in the context of the span if there is one and the context manager works. */
	run(started: StartedSpan | undefined, next: () => unknown): unknown {
		if (!started) return next()
		let ended: { readonly value: unknown } | { readonly error: unknown } | undefined
		let hasStarted = false
		const once = (): void => {
			if (hasStarted) return
			hasStarted = true
			try {
				ended = { value: next() }
			} catch (error) {
				ended = { error }
			}
		}
		try {
			this.api.context.with(started.context, once)
		} catch (error) {
			this.report('context', 'the context manager failed', error)
		}
		once()
		if (ended === undefined) return undefined
		if ('error' in ended) throw ended.error
		return ended.value
	}

	/** Returns the headers that carry the context, without values that HTTP cannot carry. */
	headersOf(context: OtelContext): Record<string, string> {
		const carrier: Record<string, unknown> = {}
		this.api.propagation.inject(context, carrier)
		const headers: Record<string, string> = {}
		for (const [name, value] of Object.entries(carrier))
			if (typeof value === 'string' && HEADER_NAME.test(name) && HEADER_VALUE.test(value))
				headers[name] = value
		return headers
	}

	/** Marks a span as failed. The conventions for HTTP ask for no message if the status explains the error. */
	fail(span: OtelSpan, error: unknown, type: string = errorTypeOf(error), hasMessage = true): void {
		span.setAttributes({ 'error.type': type })
		const code = this.api.SpanStatusCode.ERROR
		const message = hasMessage && this.#redactor.text(describeError(error).errorMessage, 'exception.message')
		span.setStatus(message === false ? { code } : { code, message })
	}

	recordException(span: OtelSpan, error: unknown): void {
		const { name, message, stack } = exceptionOf(error)
		span.recordException({
			name,
			message: this.#redactor.text(message, 'exception.message'),
			...(stack !== undefined && { stack: this.#redactor.text(stack, 'exception.stacktrace') }),
		})
	}

	setAttributes(span: OtelSpan, attributes: Parameters<OtelSpan['setAttributes']>[0]): void {
		span.setAttributes(this.#redactor.fields(attributes))
	}

	addEvent(span: OtelSpan, name: string, attributes: Parameters<OtelSpan['setAttributes']>[0]): void {
		span.addEvent(name, this.#redactor.fields(attributes))
	}

	/** Runs `use` on a span and ends the span, also if `use` fails. */
	end({ span, isRecording }: StartedSpan, use: (span: OtelSpan) => void): void {
		if (isRecording) this.guard('attributes', 'the attributes of a span could not be set', () => use(span))
		this.guard('end', 'a span could not be ended', () => span.end())
	}

	guard(key: string, text: string, use: () => void): void {
		try {
			use()
		} catch (error) {
			this.report(key, text, error)
		}
	}

	report(key: string, text: string, error: unknown): void {
		this.#reports.report(key, text, error)
	}

	/** Reads the provider each time: an SDK may be registered later, also by another copy of the API. */
	#currentTracer(): OtelTracer {
		const provider = this.api.trace.getTracerProvider()
		if (this.#tracer === undefined || provider !== this.#provider) {
			this.#provider = provider
			this.#tracer = provider.getTracer(SCOPE)
		}
		return this.#tracer
	}
}
