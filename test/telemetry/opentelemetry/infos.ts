/** Hand-made sources and infos, for exporters without the engine. */
import type {
	AttemptInfo,
	BatchInfo,
	CallEnd,
	CallInfo,
	DeliveryInfo,
	EnqueueInfo,
} from '../../../src/core/observe/observer.ts'
import type { HttpAttempt } from '../../../src/http/request/http-attempt.ts'
import type { ObservedSource } from '../../../src/telemetry/observe/exporter.ts'

export function source(overrides: Partial<ObservedSource> = {}): ObservedSource {
	return {
		name: 'payments',
		kind: 'policy',
		serviceOf: () => 'payments',
		members: undefined,
		stats: undefined,
		...overrides,
	}
}

export function callInfo(overrides: Partial<CallInfo> = {}): CallInfo {
	return {
		type: 'call',
		id: undefined,
		emitter: 'payments',
		key: undefined,
		call: undefined,
		method: undefined,
		state: new Map(),
		...overrides,
	}
}

export function callEnd(info: CallInfo, overrides: Partial<CallEnd> = {}): CallEnd {
	const { emitter: policy, key, call, method } = info
	return {
		type: 'call',
		emitter: policy,
		key,
		call,
		method,
		outcome: 'success',
		attempts: 1,
		retries: 0,
		durationMs: 250,
		queuedMs: 0,
		backoffMs: 0,
		error: undefined,
		info,
		...overrides,
	}
}

export function attemptInfo(call: CallInfo, overrides: Partial<AttemptInfo> = {}): AttemptInfo {
	return { type: 'attempt', call, attempt: 1, resendCount: 0, hedge: 0, extension: undefined, ...overrides }
}

export interface TestRequest extends HttpAttempt {
	readonly added: Record<string, string>
}

export function request(
	url: string,
	headers: Readonly<Record<string, string>> = {},
	method = 'GET',
): TestRequest {
	const added: Record<string, string> = {}
	return {
		method,
		url,
		hasHeader: (name) => name in headers,
		addHeaders: (more) => Object.assign(added, more),
		added,
	}
}

export interface TestEnqueue extends EnqueueInfo {
	readonly added: Record<string, string>
}

export function enqueueInfo(overrides: Partial<EnqueueInfo> = {}): TestEnqueue {
	const added: Record<string, string> = {}
	return {
		type: 'enqueue',
		outbox: 'outbox',
		topics: ['order.placed'],
		count: 1,
		addHeaders: (headers) => Object.assign(added, headers),
		added,
		...overrides,
	}
}

export function deliveryInfo(overrides: Partial<DeliveryInfo> = {}): DeliveryInfo {
	return {
		type: 'delivery',
		relay: 'relay',
		destination: 'billing',
		topic: 'order.placed',
		messageId: 'm-1',
		attempt: 1,
		headers: {},
		...overrides,
	}
}

export function batchInfo(deliveries: readonly Partial<DeliveryInfo>[]): BatchInfo {
	const own = deliveries.map((overrides, index) =>
		deliveryInfo({ messageId: `m-${index + 1}`, ...overrides }),
	)
	return { type: 'batch', relay: 'relay', destination: 'billing', deliveries: own }
}
