/**
 * Reports a channel that retries by itself, with a service config among its options, beside an interceptor
 * that retries too: 4 attempts around 4 attempts are 16 requests. An interceptor does not get the options of
 * its channel, so they are read from the fields of grpc-js's own objects. If another version of it has other
 * fields, nothing is reported.
 */
import { safeGet } from '../../core/classify/safe-get.ts'
import type { GrpcCall } from './grpc-types.ts'

/** Calls of interceptors around the call of the channel. */
const MAX_DEPTH = 20

const checked = /* @__PURE__ */ new WeakSet<object>()

/** Checks the channel of a call, once per channel. */
export function reportChannelRetries(call: GrpcCall): void {
	const channel = channelOf(call)
	if (!channel || checked.has(channel)) return
	checked.add(channel)
	const options = safeGet(channel, 'options')
	if (safeGet(options, 'grpc.enable_retries') === 0) return
	if (!hasRepeatPolicy(safeGet(options, 'grpc.service_config'))) return
	console.warn(
		'yaoki: the channel of a client with resilientInterceptor has a service config with retries or hedging of its own, so that ' +
			'its requests multiply. Pass resilientChannelOptions(config) in place of "grpc.service_config".',
	)
}

function channelOf(call: GrpcCall): object | undefined {
	let inner: unknown = call
	for (let depth = 0; inner && depth < MAX_DEPTH; depth++) {
		const channel = safeGet(inner, 'channel')
		if (typeof channel === 'object' && channel) return channel
		inner = safeGet(inner, 'call') ?? safeGet(inner, 'nextCall')
	}
	return undefined
}

function hasRepeatPolicy(json: unknown): boolean {
	try {
		const { methodConfig = [] } = JSON.parse(String(json))
		return methodConfig.some((entry: object) => 'retryPolicy' in entry || 'hedgingPolicy' in entry)
	} catch {
		return false
	}
}
