import { MAX_OPEN_MS } from '../../core/circuit-breaker/options.ts'
import { invalidArgument } from '../../core/options/schema.ts'
import type { MethodConfigEntry, ServiceConfig } from '../service-config/service-config.ts'
import { watchCalls } from './channel-watch.ts'

/** What `resilientChannelOptions` returns: options for the channel of a grpc-js client. */
export interface ResilientChannelOptions {
	readonly 'grpc.service_config': string
	readonly 'grpc.service_config_disable_resolution': 1
	readonly 'grpc.max_reconnect_backoff_ms': number
}

/**
 * Returns channel options with the service config, for example its load balancing, without what
 * `resilientInterceptor` does: otherwise grpc-js would retry as well. Its transparent retries, of requests
 * that have not reached a server, remain. A service config from DNS is ignored.
 *
 * grpc-js waits for up to two minutes before it connects again to a server that was away, and fails all calls
 * in the meantime. Here it is as long as a circuit can be open. To change it, write
 * `'grpc.max_reconnect_backoff_ms'` after these options. Without a service config, this is the only option.
 *
 * @example
 * const client = new UsersClient(address, credentials, { ...resilientChannelOptions(config), interceptors: [interceptor] })
 */
export function resilientChannelOptions(config: ServiceConfig): ResilientChannelOptions
export function resilientChannelOptions(): Pick<ResilientChannelOptions, 'grpc.max_reconnect_backoff_ms'>
export function resilientChannelOptions(config?: ServiceConfig): Partial<ResilientChannelOptions> {
	if (config === undefined) return { 'grpc.max_reconnect_backoff_ms': MAX_OPEN_MS }
	if (typeof config?.find !== 'function')
		invalidArgument('config', config, 'a ServiceConfig: parseServiceConfig(json)')
	watchCalls(config)
	// Null is the same as missing, but not for grpc-js.
	const given = Object.entries(config.json).filter(([, value]) => value !== null)
	const { retryThrottling: _, ...rest } = Object.fromEntries(given)
	const methodConfig = config.methodConfigs.filter(({ names }) => names.length > 0).map(entryFor)
	return {
		'grpc.service_config': JSON.stringify({ ...rest, methodConfig }),
		'grpc.service_config_disable_resolution': 1,
		'grpc.max_reconnect_backoff_ms': MAX_OPEN_MS,
	}
}

/**
 * An entry without retries, hedging and timeout. grpc-js would also read a timeout of half a second as 5
 * nanoseconds, and reject an empty method.
 */
function entryFor({ names, config }: MethodConfigEntry): object {
	const { waitForReady, maxRequestMessageBytes, maxResponseMessageBytes } = config
	return {
		name: names.map(({ service, method }) => ({
			service: service || undefined,
			method: method || undefined,
		})),
		waitForReady,
		maxRequestMessageBytes,
		maxResponseMessageBytes,
	}
}
