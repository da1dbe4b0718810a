/**
 * The parts of `@opentelemetry/api` that are used, as structural types: the module is passed in, so the
 * package neither imports it nor decides its version. Version 1.4 is the first one with metrics.
 */

/** A context: what is active while user code runs. */
export interface OtelContext {
	getValue(key: symbol): unknown
}

/** The identity of a span. */
export interface OtelSpanContext {
	readonly traceId: string
	readonly spanId: string
	readonly traceFlags: number
}

/** A span. */
export interface OtelSpan {
	spanContext(): OtelSpanContext
	isRecording(): boolean
	setAttributes(attributes: { [name: string]: string | number | boolean }): unknown
	addEvent(name: string, attributes?: { [name: string]: string | number | boolean }): unknown
	updateName(name: string): unknown
	setStatus(status: { code: number; message?: string }): unknown
	recordException(exception: { name?: string; message: string; stack?: string }): void
	end(): void
}

/** What a span starts with. */
export interface OtelSpanOptions {
	kind?: number
	attributes?: { [name: string]: string | number | boolean }
	links?: { context: OtelSpanContext }[]
	root?: boolean
}

/** Starts spans. */
export interface OtelTracer {
	startSpan(name: string, options?: OtelSpanOptions, context?: OtelContext): OtelSpan
}

/** Provides tracers. */
export interface OtelTracerProvider {
	getTracer(name: string): OtelTracer
}

type MetricAttributes = { [name: string]: string | number | boolean }

/** Receives the values of a gauge when metrics are collected. */
export interface OtelObservableResult {
	observe(value: number, attributes?: MetricAttributes): void
}

/** A gauge whose callback is called when metrics are collected. */
interface OtelObservableGauge {
	addCallback(callback: (result: OtelObservableResult) => void | Promise<void>): void
	removeCallback(callback: (result: OtelObservableResult) => void | Promise<void>): void
}

/** The unit and the help of a metric; for histograms, the bounds of their buckets. */
interface OtelMetricOptions {
	description?: string
	unit?: string
	advice?: { explicitBucketBoundaries?: number[] }
}

/** Creates metrics. */
export interface OtelMeter {
	createHistogram(
		name: string,
		options?: OtelMetricOptions,
	): { record(value: number, attributes?: MetricAttributes): void }
	createCounter(
		name: string,
		options?: OtelMetricOptions,
	): { add(value: number, attributes?: MetricAttributes): void }
	createObservableGauge(name: string, options?: OtelMetricOptions): OtelObservableGauge
}

/** Provides meters. */
export interface OtelMeterProvider {
	getMeter(name: string): OtelMeter
}

/** The module `@opentelemetry/api`, version 1.4 or later. */
export interface OpenTelemetryApi {
	readonly trace: {
		getTracerProvider(): OtelTracerProvider
		setSpan(context: OtelContext, span: OtelSpan): OtelContext
		getSpan(context: OtelContext): OtelSpan | undefined
		getSpanContext(context: OtelContext): OtelSpanContext | undefined
	}
	readonly context: {
		active(): OtelContext
		with(context: OtelContext, fn: () => unknown): unknown
		/** Lets the listeners of an event emitter run in a context. */
		bind?(context: OtelContext, emitter: object): unknown
	}
	readonly propagation: {
		inject(context: OtelContext, carrier: unknown): void
		extract(context: OtelContext, carrier: unknown): OtelContext
	}
	readonly metrics: { getMeterProvider(): OtelMeterProvider }
	readonly ROOT_CONTEXT: OtelContext
	readonly SpanKind: {
		readonly INTERNAL: number
		readonly SERVER: number
		readonly CLIENT: number
		readonly PRODUCER: number
		readonly CONSUMER: number
	}
	readonly SpanStatusCode: { readonly ERROR: number }
	isSpanContextValid(context: OtelSpanContext): boolean
	/** Without it, metrics are computed even if no SDK is registered. */
	createNoopMeter?(): OtelMeter
}
