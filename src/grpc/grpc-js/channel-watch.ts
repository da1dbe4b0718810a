/**
 * `resilientChannelOptions` switches the retries of grpc-js off. If the calls of that channel do not pass an
 * interceptor, because nice-grpc ignores the interceptors of clients or they were forgotten, nothing retries.
 * A channel reports nothing about its calls, but Node publishes the start of each HTTP/2 stream: the first
 * request of a method with a policy shows whether an interceptor has seen that method. Older versions of
 * Node, and other runtimes, do not publish it; there nothing is reported.
 */
import { parsePath, type ServiceConfig } from '../service-config/service-config.ts'

const STREAM_START = 'http2.client.stream.start'
/** A generic client may create any number of paths. From this number on it is not known which were seen. */
const MAX_PATHS = 1_000

interface StreamStart {
	readonly headers?: Readonly<Record<string, unknown>>
}

type Listener = (message: unknown) => void

interface DiagnosticsChannel {
	subscribe(name: string, listener: Listener): void
	unsubscribe(name: string, listener: Listener): void
}

interface NodeGlobal {
	readonly process?: { getBuiltinModule?(name: string): unknown }
}

const seenPaths = /* @__PURE__ */ new Set<string>()
const watched = /* @__PURE__ */ new Set<ServiceConfig>()

/** An interceptor or middleware runs calls of this method. */
export function setIntercepted(path: string): void {
	if (seenPaths.size < MAX_PATHS) seenPaths.add(path)
}

/** Reports, once, if a method of this config that has a policy is called without an interceptor. */
export function watchCalls(config: ServiceConfig): void {
	const isRepeating = config.methodConfigs.some(
		(entry) => entry.config.retryPolicy ?? entry.config.hedgingPolicy,
	)
	const channel = diagnosticsChannel()
	if (!isRepeating || !channel || watched.has(config)) return
	if (watched.size === 0) channel.subscribe(STREAM_START, onStreamStart)
	watched.add(config)
}

const diagnosticsChannel = (): DiagnosticsChannel | undefined =>
	(globalThis as NodeGlobal).process?.getBuiltinModule?.('node:diagnostics_channel') as
		| DiagnosticsChannel
		| undefined

function onStreamStart(message: unknown): void {
	const { headers = {} } = message as StreamStart
	const { ':path': path, 'user-agent': userAgent } = headers
	if (typeof path !== 'string' || !String(userAgent).includes('grpc-node-js')) return
	const { service, method } = parsePath(path)
	const repeating = [...watched].filter((config) => {
		const { retryPolicy, hedgingPolicy } = config.find(service, method) ?? {}
		return retryPolicy ?? hedgingPolicy
	})
	if (repeating.length === 0) return
	for (const config of repeating) watched.delete(config)
	if (watched.size === 0) diagnosticsChannel()?.unsubscribe(STREAM_START, onStreamStart)
	if (seenPaths.has(path) || seenPaths.size >= MAX_PATHS) return
	console.warn(
		`yaoki: ${path} was called without resilientInterceptor, and resilientChannelOptions switches the retries of grpc-js off, so ` +
			'nothing retries. Add the interceptor to the options of the client; clients of nice-grpc need resilientNiceMiddleware.',
	)
}
