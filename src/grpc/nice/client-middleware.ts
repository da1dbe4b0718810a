import { attachRecord } from '../../core/explain/record.ts'
import { invalidArgument } from '../../core/options/schema.ts'
import { ConnectCall } from '../connect/connect-call.ts'
import { RpcErrors } from '../connect/errors.ts'
import { setIntercepted } from '../grpc-js/channel-watch.ts'
import { extendInterceptor, type GrpcInterceptor } from '../interceptor/grpc-interceptor.ts'
import { type GrpcClientStats, GrpcEngine } from '../policy/grpc-engine.ts'
import { type GrpcClientOptions, readGrpcOptions } from '../policy/options.ts'
import { type NiceResponse, requestOf, sender } from './attempt-request.ts'
import { CallError, trailerOf } from './call-error.ts'
import type { NiceCall, NiceCallOptions, NiceMiddleware, NiceModule } from './nice-types.ts'

/**
 * The middleware for clients of nice-grpc that `resilientNiceMiddleware` returns. Its calls share the
 * policies, so create one per server.
 */
export type ResilientNiceMiddleware = NiceMiddleware & GrpcInterceptor<GrpcClientStats>

/**
 * Creates a middleware for clients of nice-grpc, which ignores interceptors of grpc-js: retries and hedging
 * as in gRPC proposal A6, a circuit breaker, a bulkhead, a budget, and deadlines that calls inherit. Pass
 * `resilientChannelOptions(config)` to the channel too, so that grpc-js does not retry as well. Callers
 * receive a `ClientError`; if a policy has rejected the call, the error of the policy is its `cause`.
 *
 * @example
 * import * as nice from 'nice-grpc'
 *
 * const config = parseServiceConfig(json)
 * const channel = nice.createChannel(address, credentials, resilientChannelOptions(config))
 * const middleware = resilientNiceMiddleware(nice, { serviceConfig: config })
 * const users = nice.createClientFactory().use(middleware).create(UsersDefinition, channel)
 */
export function resilientNiceMiddleware(
	nice: NiceModule,
	options: GrpcClientOptions = {},
): ResilientNiceMiddleware {
	if (typeof nice?.ClientError !== 'function')
		invalidArgument('nice', nice, "the module: import * as nice from 'nice-grpc'")
	const engine = new GrpcEngine(readGrpcOptions(options, 'resilientNiceMiddleware'))
	const environment = { engine, errors: new RpcErrors({ ConnectError: CallError as never }) }
	async function* middleware(call: NiceCall<unknown, unknown>, callOptions: NiceCallOptions) {
		const running = new ConnectCall(
			environment,
			requestOf(call, callOptions),
			sender(nice, call, callOptions),
		)
		setIntercepted(call.method.path)
		try {
			const { message, received } = (await running.run()) as NiceResponse
			if (received.header) callOptions.onHeader?.(received.header as never)
			if (call.responseStream) yield* message as AsyncIterable<unknown>
			if (received.trailer) callOptions.onTrailer?.(received.trailer as never)
			return call.responseStream ? undefined : message
		} catch (error) {
			// Callers of nice-grpc expect this error, and so does its middleware for deadlines.
			if (callOptions.signal?.aborted) throw new DOMException('The operation was aborted', 'AbortError')
			const shown = toCaller(nice, call.method.path, error)
			const trailer = trailerOf(shown)
			if (trailer) callOptions.onTrailer?.(trailer as never)
			const { call: coreCall } = running.rpc
			if (coreCall) attachRecord(shown as Error, coreCall)
			throw shown
		}
	}
	return extendInterceptor(middleware as NiceMiddleware, engine)
}

/** Returns the error of the last attempt itself, or an error of the same class. */
function toCaller(nice: NiceModule, path: string, error: unknown): unknown {
	if (!(error instanceof CallError)) return error
	const { cause, code, rawMessage } = error
	if (cause instanceof nice.ClientError) return cause
	const shown = new nice.ClientError(path, code, rawMessage)
	return Object.defineProperty(shown, 'cause', { value: cause, writable: true, configurable: true })
}
