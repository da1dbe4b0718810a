import type { AroundInfo } from '../../core/observe/observer.ts'
import type { Exporter, ObservedSource } from '../observe/exporter.ts'
import { ProblemReports } from '../observe/report.ts'
import { Redactor } from '../redact/redactor.ts'
import type { OpenTelemetryApi } from './api.ts'
import { CallSpans } from './call-spans.ts'
import { MessageSpans } from './message-spans.ts'
import { OtelMetrics } from './metrics.ts'
import { checkApi, type OpenTelemetryOptions, readOpenTelemetryOptions } from './options.ts'
import { type OpenTelemetryServer, openTelemetryServer } from './server-spans.ts'
import { Tracing } from './tracing.ts'

const NAME = 'openTelemetry'

/** The exporter that `openTelemetry` returns. */
export interface OpenTelemetryExporter extends Exporter {
	/** Spans of incoming HTTP requests, in the trace of the caller. For servers without an instrumentation. */
	readonly server: OpenTelemetryServer
}

/**
 * Creates an exporter for `observe` that creates spans and metrics with OpenTelemetry: a span for each call,
 * a child span for each attempt, and spans for the messages of an outbox, from the transaction that enqueues
 * a message to its delivery. It needs the API only; without a registered SDK it does nothing. Default
 * options: spans and metrics of everything.
 *
 * @example
 * import * as otel from '@opentelemetry/api'
 *
 * const tracing = openTelemetry(otel)
 * app.use(tracing.server.express)
 * const stop = observe({ payments, client, outbox, relay }, [tracing])
 */
export function openTelemetry(api: OpenTelemetryApi, options?: OpenTelemetryOptions): OpenTelemetryExporter {
	checkApi(api)
	const settings = readOpenTelemetryOptions(options)
	const reports = new ProblemReports(NAME)
	const metrics = settings.metrics ? new OtelMetrics(api, reports, NAME, settings.maxSeries) : undefined
	const tracing = new Tracing(api, settings.spans, reports, new Redactor(settings.redact, reports))
	const calls = new CallSpans(tracing, metrics, settings)
	const messages = new MessageSpans(tracing, metrics, settings)
	const around = (source: ObservedSource, info: AroundInfo, next: () => unknown): unknown => {
		switch (info.type) {
			case 'call':
				return calls.call(source, info, next)
			case 'attempt':
				return calls.attempt(info, next)
			case 'enqueue':
				return messages.enqueue(info, next)
			case 'delivery':
				return messages.deliver(info, next)
			case 'batch':
				return messages.deliverBatch(info, next)
		}
	}
	return {
		name: NAME,
		server: openTelemetryServer(tracing),
		attach(source) {
			const counted = metrics?.add(source)
			return {
				around: (info, next) => around(source, info, next),
				trusted: {
					wantsAttempts: (call) => calls.wantsAttempts(source, call),
					wantsCallEnd: (call) => calls.hasSpan(call) || metrics?.isActive === true,
				},
				onCallEnd(end) {
					counted?.recordCall(end)
					calls.endCall(end)
				},
				onEvent(event) {
					counted?.recordEvent(event)
					calls.addEvent(event)
					messages.onEvent(event)
				},
				detach() {
					counted?.remove()
					calls.endAll(source)
				},
			}
		},
	}
}
