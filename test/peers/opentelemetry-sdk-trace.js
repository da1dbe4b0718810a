/** The SDK of OpenTelemetry that belongs to the lowest version of its API, with the names of the newest one (`@opentelemetry/sdk-trace`). */
import { SimpleSpanProcessor as EarlySpanProcessor } from '@opentelemetry/sdk-trace-base'

export {
	AlwaysOffSampler,
	BasicTracerProvider as TracerProvider,
	InMemorySpanExporter,
} from '@opentelemetry/sdk-trace-base'

export class SimpleSpanProcessor extends EarlySpanProcessor {
	constructor({ exporter }) {
		super(exporter)
	}
}
