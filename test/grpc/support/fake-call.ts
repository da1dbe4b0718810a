/**
 * What an interceptor calls: one call of grpc-js without a connection, whose server is the test. It records what it receives, and reports
 * what grpc-js would not notice: messages after the half-close, a message or the half-close while the last message is not written,
 * anything after the end.
 */
import { Metadata } from '@grpc/grpc-js'
import type { Runtime } from 'yaoki'
import type {
	GrpcCall,
	GrpcCallOptions,
	GrpcListener,
	GrpcMetadata,
} from '../../../src/grpc/grpc-js/grpc-types.ts'

interface WriteContext {
	readonly callback?: (error?: Error | null) => void
	readonly flags?: number
}

export interface FakeEndOptions {
	readonly details?: string
	/** The value of `grpc-retry-pushback-ms`. */
	readonly pushback?: string | undefined
}

export class FakeCall implements GrpcCall {
	readonly options: GrpcCallOptions
	readonly #runtime: Runtime
	/** Metadata as it was when the call started. */
	metadata: Metadata = new Metadata()
	/** The messages, as grpc-js would send them. */
	readonly messages: string[] = []
	readonly flags: (number | undefined)[] = []
	isStarted = false
	isHalfClosed = false
	reads = 0
	/** How often it was cancelled before its end. */
	cancels = 0
	isEnded = false
	/** True: writes wait for `acknowledge`. Default: they end in the next microtask. */
	isSlow = false
	/** When the status of a cancelled call arrives: before `cancelWithStatus` returns, as from an interceptor further in, soon, or later. */
	endAfterCancel: 'now' | 'soon' | 'later' = 'soon'
	/** What grpc-js does not allow. */
	readonly violations: string[] = []
	#listener: Partial<GrpcListener> = {}
	#writing: (() => void) | undefined
	#hasMessage = false
	#endTimer: (() => void) | undefined

	constructor(runtime: Runtime, options: GrpcCallOptions) {
		this.#runtime = runtime
		this.options = options
	}

	/** `grpc-previous-rpc-attempts` as sent; undefined without it. */
	get previousAttempts(): string | undefined {
		return this.metadata.get('grpc-previous-rpc-attempts')[0]?.toString()
	}

	start(metadata: GrpcMetadata, listener: Partial<GrpcListener> = {}): void {
		if (this.isStarted) this.violations.push('started twice')
		this.isStarted = true
		this.metadata = metadata.clone() as Metadata
		this.#listener = listener
		const { deadline } = this.options
		if (deadline === undefined || deadline === Infinity) return
		const ms = Math.max(0, Number(deadline) - this.#runtime.wallNow())
		this.#endTimer = this.#runtime.setTimer(ms, () => this.end(4, { details: 'Deadline exceeded' }))
	}

	sendMessageWithContext({ callback, flags }: WriteContext, message: unknown): void {
		this.#check('a message')
		if (this.isHalfClosed) this.violations.push('a message after the half-close')
		if (this.#writing) this.violations.push('a message before the last one was written')
		try {
			this.messages.push(new TextDecoder().decode(this.options.method_definition.requestSerialize(message)))
		} catch (error) {
			this.end(13, { details: String(error) })
			return
		}
		this.flags.push(flags)
		this.#writing = () => callback?.()
		if (!this.isSlow) queueMicrotask(() => this.acknowledge())
	}

	sendMessage(message: unknown): void {
		this.sendMessageWithContext({}, message)
	}

	halfClose(): void {
		this.#check('a half-close')
		if (this.isHalfClosed) this.violations.push('a second half-close')
		// grpc-js 1.12.0 to 1.14.2 would end the stream without that message.
		if (this.#writing && this.options.method_definition.requestStream)
			this.violations.push('a half-close before the last message was written')
		this.isHalfClosed = true
	}

	startRead(): void {
		this.#check('a read')
		this.reads++
	}

	/** As grpc-js does, reports the status later. */
	cancelWithStatus(code: number, details: string): void {
		if (this.isEnded) return
		this.cancels++
		const end = () => this.end(code, { details })
		if (this.endAfterCancel === 'now') end()
		else if (this.endAfterCancel === 'soon') queueMicrotask(end)
		else this.#runtime.setTimer(2, end)
	}

	getPeer(): string {
		return 'fake'
	}

	getAuthContext(): null {
		return null
	}

	/** The message that is being written is written. */
	acknowledge(): void {
		const callback = this.#writing
		this.#writing = undefined
		callback?.()
	}

	sendHeaders(pairs: Readonly<Record<string, string>> = {}): void {
		const metadata = new Metadata()
		metadata.set('content-type', 'application/grpc+proto')
		for (const [key, value] of Object.entries(pairs)) metadata.set(key, value)
		this.#listener.onReceiveMetadata?.(metadata)
	}

	/** A response that arrives after a cancellation is delivered too, as grpc-js does. */
	sendResponse(message: unknown): void {
		this.#hasMessage = true
		this.#listener.onReceiveMessage?.(message)
	}

	end(code: number, { details = 'the test ends the call', pushback }: FakeEndOptions = {}): void {
		if (this.isEnded) return
		this.isEnded = true
		this.#endTimer?.()
		const metadata = new Metadata()
		if (pushback !== undefined) metadata.set('grpc-retry-pushback-ms', pushback)
		if (!this.#hasMessage && !this.options.method_definition.responseStream)
			this.#listener.onReceiveMessage?.(null)
		this.#listener.onReceiveStatus?.({ code, details, metadata })
	}

	#check(what: string): void {
		if (!this.isStarted) this.violations.push(`${what} before the start`)
		if (this.isEnded) this.violations.push(`${what} after the end`)
		else if (this.cancels > 0) this.violations.push(`${what} after the cancellation`)
	}
}
