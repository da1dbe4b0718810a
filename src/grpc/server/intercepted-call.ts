/**
 * A call of a grpc-js server between the handler and the client. It replaces all methods of grpc-js's
 * `ServerInterceptingCall` and is a subclass only because the type of an interceptor asks for one: the hooks
 * of that class cannot limit the deadline that handlers see, and cannot run the event `cancelled` in the
 * async context.
 *
 * The handler receives the metadata when the call is admitted. Before, it asks for no messages, so a queued
 * call is limited by the flow control of HTTP/2 and not by a buffer.
 */
import { findRecord } from '../../core/explain/record.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import type { GrpcMetadata } from '../grpc-js/grpc-types.ts'
import { remainingMs } from '../grpc-js/parent-call.ts'
import { parsePath } from '../service-config/service-config.ts'
import { PUSHBACK_KEY } from '../status/retry-metadata.ts'
import { UNKNOWN } from '../status/status.ts'
import type { ServerFailure } from './failure.ts'
import type { NextServerCall, ServerListener, ServerMethod, ServerStatus } from './grpc-js-types.ts'
import { DO_NOT_RETRY, forbidsRetry } from './pushback.ts'
import type { ServerCall } from './server-call.ts'
import { storeContext } from './server-context.ts'
import type { ServerEngine } from './server-engine.ts'

type CallConstructor = new (next: NextServerCall) => NextServerCall

/** Defines the calls of a server. `Base` and `Metadata` are classes of grpc-js. */
export function defineInterceptedCall(
	Base: CallConstructor,
	Metadata: new () => GrpcMetadata,
	engine: ServerEngine,
): new (
	next: NextServerCall,
	method: ServerMethod,
) => NextServerCall {
	return class InterceptedCall extends Base {
		readonly #next: NextServerCall
		readonly #method: ServerMethod
		#listener: ServerListener | undefined
		/** Undefined until the metadata has arrived. */
		#call: ServerCall | undefined
		/** The handler has called its callback: nothing more comes from it. */
		#hasResponded = false

		constructor(next: NextServerCall, method: ServerMethod) {
			super(next)
			this.#next = next
			this.#method = method
		}

		override start(listener: ServerListener): void {
			this.#listener = listener
			this.#next.start({
				onReceiveMetadata: (metadata) => this.#open(metadata, listener),
				onReceiveMessage: (message) => this.#forward(() => listener.onReceiveMessage(message)),
				onReceiveHalfClose: () => this.#forward(() => listener.onReceiveHalfClose()),
				onCancel: () => this.#cancel(),
			})
		}

		override sendMetadata(metadata: GrpcMetadata): void {
			if (!this.#call?.isOver) this.#next.sendMetadata(metadata)
		}

		override sendMessage(message: unknown, callback: () => void): void {
			if (!this.#method.responseStream) this.#hasResponded = true
			if (!this.#call?.isOver) this.#next.sendMessage(message, callback)
			else if (this.#hasResponded) this.#call.finish()
		}

		override sendStatus(status: ServerStatus): void {
			const call = this.#call
			const isLate = call?.isOver === true
			// `finish` comes first, because a status that cannot be encoded throws.
			call?.finish(status.code ?? UNKNOWN, status.details)
			if (!isLate) this.#next.sendStatus(this.#withVeto(status))
		}

		override startRead(): void {
			this.#next.startRead()
		}

		/** The deadline of the client, or the earlier one that the server allows. */
		override getDeadline(): Date | number {
			const given = this.#next.getDeadline()
			const { deadline } = this.#call ?? {}
			const own = deadline ? Math.floor(systemRuntime.wallNow() + deadline.remainingMs) : Infinity
			// The two clocks differ by fractions of a millisecond.
			return own < Number(given) - 1 ? own : given
		}

		#open(metadata: GrpcMetadata, listener: ServerListener): void {
			// grpc-js has computed the deadline from the system's clock.
			const givenMs = remainingMs(this.#next.getDeadline(), systemRuntime)
			this.#call = engine.open(
				{
					...parsePath(this.#method.path),
					headers: { get: (name) => firstText(metadata, name) },
					remainingMs: givenMs === Infinity ? undefined : givenMs,
				},
				{
					start: (context) => {
						storeContext(metadata, context)
						listener.onReceiveMetadata(metadata)
					},
					fail: (failure) => this.#fail(failure),
				},
			)
			this.#call.begin()
		}

		/** Passes an event of the client to the handler, in the async context of the call. */
		#forward(event: () => void): void {
			const call = this.#call
			if (call && !call.isOver) call.run(event)
		}

		#cancel(): void {
			const call = this.#call
			call?.cancel()
			if (this.#hasResponded) call?.finish()
			this.#cancelHandler()
		}

		#fail({ code, details, pushback }: ServerFailure): void {
			const metadata = pushback === undefined ? null : new Metadata()
			if (pushback !== undefined) metadata?.set(PUSHBACK_KEY, pushback)
			this.#next.sendStatus({ code, details, metadata })
			// grpc-js cancels it only when the status is sent, which a client that does not read messages delays.
			this.#cancelHandler()
		}

		/** Cancels the handler once. A handler that was not started ignores it. */
		#cancelHandler(): void {
			const listener = this.#listener
			this.#listener = undefined
			if (!listener) return
			const cancel = () => listener.onCancel()
			if (this.#call) this.#call.run(cancel)
			else cancel()
		}

		#withVeto(status: ServerStatus): ServerStatus {
			const { metadata, code = UNKNOWN } = status
			if (!forbidsRetry(engine.settings, this.#call?.context, code)) return status
			// The pushback in the metadata of a failed call inside the handler was for the calls of this server.
			if (metadata?.get(PUSHBACK_KEY).length && !findRecord(metadata)) return status
			const vetoed = metadata?.clone() ?? new Metadata()
			vetoed.set(PUSHBACK_KEY, DO_NOT_RETRY)
			return { ...status, metadata: vetoed }
		}
	}
}

function firstText(metadata: GrpcMetadata, name: string): string | undefined {
	const [value] = metadata.get(name)
	return typeof value === 'string' ? value : undefined
}
