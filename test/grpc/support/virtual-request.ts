/** One request as the virtual server sees it: what grpc-js has sent, and the ways to respond. */
import { constants } from 'node:http2'
import { type InterceptingListener, Metadata } from '@grpc/grpc-js'
import { type Item, type ItemInit, usersMethods } from './users.ts'

export type VirtualStep = (request: VirtualRequest) => unknown

/** Before the bytes of a message: a flag and the length. */
const PREFIX_LENGTH = 5

/** The part of a listener's status that only connections of grpc-js set. */
interface ConnectionListener extends InterceptingListener {
	onReceiveStatus(status: Parameters<InterceptingListener['onReceiveStatus']>[0] & { rstCode?: number }): void
}

const UNITS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1 }

/** Parses the value of `grpc-timeout`, such as `100m`. */
const parseTimeout = (timeout: string): number =>
	Number(timeout.slice(0, -1)) * (UNITS[timeout.slice(-1)] ?? Number.NaN)

interface WriteContext {
	readonly callback?: (error?: Error | null) => void
}

interface EndOptions {
	/** The value of `grpc-retry-pushback-ms`. */
	readonly pushback?: string | undefined
	readonly rstCode?: number
}

export class VirtualRequest {
	/** When it was sent, in milliseconds since the start of the test. */
	readonly at: number
	readonly method: string
	readonly metadata: Metadata
	readonly #listener: ConnectionListener
	readonly #now: () => number
	/** The messages received so far. */
	readonly messages: Item[] = []
	isHalfClosed = false
	/** When the client cancelled it; undefined if it did not. */
	cancelledAt: number | undefined
	/** False: the client may not send more messages. */
	acceptsMore = true
	#isEnded = false
	#reading: (() => void) | undefined
	readonly #isReading = new Promise<void>((resolve) => {
		this.#reading = resolve
	})

	constructor(now: () => number, method: string, metadata: Metadata, listener: ConnectionListener) {
		this.#now = now
		this.at = now()
		this.method = method
		this.metadata = metadata
		this.#listener = listener
	}

	/** `grpc-previous-rpc-attempts` as sent; undefined without it. */
	get previousAttempts(): string | undefined {
		return this.metadata.get('grpc-previous-rpc-attempts')[0]?.toString()
	}

	/** The time until the deadline, as sent; Infinity without one. */
	get timeoutMs(): number {
		const [timeout] = this.metadata.get('grpc-timeout')
		return timeout === undefined ? Infinity : parseTimeout(String(timeout))
	}

	/** Resolves after this time. */
	wait(ms: number): Promise<void> {
		return new Promise((resolve) => (ms > 0 ? setTimeout(resolve, ms) : queueMicrotask(resolve)))
	}

	sendHeaders(): void {
		if (!this.#isEnded) this.#listener.onReceiveMetadata(grpcHeaders())
	}

	async sendMessage(item: ItemInit): Promise<void> {
		await this.#isReading
		const body = usersMethods.Get.responseSerialize(item)
		const prefix = Buffer.alloc(PREFIX_LENGTH)
		prefix.writeUInt32BE(body.length, 1)
		if (!this.#isEnded) this.#listener.onReceiveMessage(Buffer.concat([prefix, body]))
	}

	end(code: number, { pushback, rstCode }: EndOptions = {}): void {
		const metadata = new Metadata()
		if (pushback !== undefined) metadata.set('grpc-retry-pushback-ms', pushback)
		if (this.#isEnded) return
		this.#isEnded = true
		this.#listener.onReceiveStatus({
			code,
			details: 'the virtual server ends the request',
			metadata,
			...(rstCode !== undefined && { rstCode }),
		})
	}

	/** Ends the request without having processed it. */
	refuse(): void {
		this.end(14, { rstCode: constants.NGHTTP2_REFUSED_STREAM })
	}

	/** What grpc-js calls to send the request. */
	readonly connection = {
		cancelWithStatus: (code: number) => {
			if (!this.#isEnded) this.cancelledAt = this.#now()
			this.end(code)
		},
		sendMessageWithContext: ({ callback }: WriteContext, framed: Buffer) => {
			this.messages.push(usersMethods.Get.requestDeserialize(framed.subarray(PREFIX_LENGTH)))
			if (this.acceptsMore) process.nextTick(() => callback?.())
		},
		halfClose: () => {
			this.isHalfClosed = true
		},
		startRead: () => this.#reading?.(),
		getPeer: () => 'virtual',
		getCallNumber: () => 0,
		getDeadlineInfo: () => [],
		getAuthContext: () => ({}),
	}
}

function grpcHeaders(): Metadata {
	const metadata = new Metadata()
	metadata.set('content-type', 'application/grpc+proto')
	return metadata
}
