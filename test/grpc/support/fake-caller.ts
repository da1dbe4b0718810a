/**
 * A call through an interceptor in virtual time: the caller's side as grpc-js's client drives it, and the attempts that the interceptor
 * starts.
 *
 * @example
 * const { call, attempts, clock } = fakeCall({ serviceConfig })
 * call.send('a')
 * attempts[0]?.end(14)
 * await clock.advance(100)
 * expect(attempts).toHaveLength(2)
 */
import * as grpc from '@grpc/grpc-js'
import { type GrpcClientOptions, resilientInterceptor } from 'yaoki/grpc'
import { type Exporter, observe } from 'yaoki/telemetry'
import { type VirtualRuntime, virtualRuntime } from 'yaoki/testing'
import type { GrpcCall, GrpcCallOptions, GrpcStatus } from '../../../src/grpc/grpc-js/grpc-types.ts'
import { FakeCall } from './fake-call.ts'

type Interceptor = ReturnType<typeof resilientInterceptor>

interface FakeClientOptions extends GrpcClientOptions {
	readonly seed?: number
	/** True: a tracer observes the calls, so that promises run them. */
	readonly isObserved?: boolean
}

const TRACER: Exporter = { name: 'tracer', attach: () => ({ around: (_, next) => next() }) }

/** Creates an interceptor in virtual time. */
export class FakeClient {
	readonly clock: VirtualRuntime
	readonly interceptor: Interceptor

	constructor({ seed = 1, isObserved = false, ...options }: FakeClientOptions = {}) {
		this.clock = virtualRuntime({ seed })
		this.interceptor = resilientInterceptor(grpc, { runtime: this.clock, ...options })
		if (isObserved) observe({ users: this.interceptor }, [TRACER])
	}

	/** Starts a call. */
	start(options: FakeCallOptions = {}): FakeCaller {
		const caller = this.create(options)
		caller.start()
		return caller
	}

	/** Creates a call that is started later, as an interceptor around does. */
	create(options: FakeCallOptions = {}): FakeCaller {
		return new FakeCaller(this, options)
	}
}

export interface FakeCallOptions extends Partial<GrpcCallOptions> {
	readonly path?: string
	readonly metadata?: grpc.Metadata
	/** Default true, as for `responseStream`. */
	readonly requestStream?: boolean
	readonly responseStream?: boolean
	readonly serialize?: (message: unknown) => Uint8Array
	/** Called with every attempt when it is created. */
	readonly onAttempt?: (attempt: FakeCall, number: number) => void
}

const PATH = '/yaoki.test.Users/Chat'

/** One function for all calls, as in generated code. */
const toBytes = (message: unknown): Uint8Array => new TextEncoder().encode(String(message))

export class FakeCaller {
	readonly call: GrpcCall
	/** What the interceptor has started, in this order. */
	readonly attempts: FakeCall[] = []
	/** What the application has received, in this order. */
	readonly events: string[] = []
	readonly statuses: (GrpcStatus & { readonly cause?: unknown })[] = []
	readonly metadata: grpc.Metadata
	/** How often the callback of each message was called. */
	readonly acknowledged: number[] = []

	constructor({ interceptor, clock }: FakeClient, given: FakeCallOptions) {
		const { path = PATH, metadata, serialize = toBytes, onAttempt, ...rest } = given
		const { requestStream = true, responseStream = true, ...callOptions } = rest
		this.metadata = metadata ?? new grpc.Metadata()
		const options: GrpcCallOptions = {
			...callOptions,
			method_definition: { path, requestStream, responseStream, requestSerialize: serialize },
		}
		const nextCall = (attemptOptions: GrpcCallOptions) => {
			const attempt = new FakeCall(clock, attemptOptions)
			this.attempts.push(attempt)
			onAttempt?.(attempt, this.attempts.length)
			return attempt
		}
		this.call = interceptor(options, nextCall as never) as unknown as GrpcCall
	}

	start(): void {
		this.call.start(this.metadata, {
			onReceiveMetadata: (metadata) => {
				const { 'content-type': _, ...pairs } = metadata.getMap()
				this.events.push(`headers ${JSON.stringify(pairs)}`)
			},
			onReceiveMessage: (message) => {
				this.events.push(`message ${String(message)}`)
			},
			onReceiveStatus: (status) => {
				this.statuses.push(status)
				this.events.push(`status ${status.code}`)
			},
		})
	}

	/** The status that the call has ended with. */
	get status(): (GrpcStatus & { readonly cause?: unknown }) | undefined {
		return this.statuses[0]
	}

	/** The caller's error, as grpc-js creates it. */
	get error(): Error {
		return Object.assign(new Error(this.status?.details), this.status)
	}

	/** Returns an attempt, from 1. */
	attempt(number: number): FakeCall {
		const attempt = this.attempts[number - 1]
		if (!attempt) throw new RangeError(`there are ${this.attempts.length} attempts, and not ${number}`)
		return attempt
	}

	/** What grpc-js does not allow, of all attempts. */
	get violations(): readonly string[] {
		return this.attempts.flatMap(({ violations }, index) =>
			violations.map((text) => `attempt ${index + 1}: ${text}`),
		)
	}

	send(message: unknown, flags?: number): void {
		const number = this.acknowledged.push(0) - 1
		const callback = () => {
			this.acknowledged[number] = (this.acknowledged[number] ?? 0) + 1
		}
		this.call.sendMessageWithContext(flags === undefined ? { callback } : { callback, flags }, message)
	}

	halfClose(): void {
		this.call.halfClose()
	}

	cancel(): void {
		this.call.cancelWithStatus(1, 'Cancelled on client')
	}
}
