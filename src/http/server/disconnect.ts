/**
 * The signal that web requests have and Node's requests do not: aborted when the client disconnects before the response. Only the response
 * shows this reliably, because a request is "closed" as soon as its body has been read. If only the request is available, its connection
 * is observed instead, with one listener for all sequential requests of a connection.
 */

type Closable = {
	once(event: 'close', listener: () => void): unknown
}

/** The part of Node's `ServerResponse` that is used, also by Express. */
export type NodeResponse = Closable & {
	statusCode: number
	/** True if everything was handed to the operating system. Missing in some implementations. */
	readonly writableFinished?: boolean
	readonly writableEnded: boolean
	readonly closed?: boolean
	setHeader(name: string, value: string): unknown
	writeHead(status: number, ...rest: never[]): unknown
	end(body: string): unknown
}

const isClosable = (value: unknown): value is Closable =>
	typeof value === 'object' && value !== null && 'once' in value && typeof value.once === 'function'

/** Checks both, because HTTP/2's response reports a stream as finished that was reset before its end. */
const isSent = ({ writableEnded, writableFinished }: NodeResponse): boolean =>
	writableEnded && writableFinished !== false

/** The abort of the latest request on each connection; earlier ones have been answered. */
const aborts = new WeakMap<object, () => void>()

/** Returns the signal. `onEnd` is called when the response has been sent or can no longer be sent. */
export function createDisconnectSignal(
	request: { readonly socket?: object | null | undefined },
	response: NodeResponse | undefined,
	onEnd: () => void,
): AbortSignal | undefined {
	const controller = new AbortController()
	const abort = () => controller.abort(new DOMException('The client has disconnected', 'AbortError'))
	if (response) {
		const close = () => {
			if (!isSent(response)) abort()
			onEnd()
		}
		if (response.closed) close()
		else response.once('close', close)
	} else if (isClosable(request.socket)) observeConnection(request.socket, abort)
	else return undefined
	return controller.signal
}

function observeConnection(connection: Closable, abort: () => void): void {
	if ('destroyed' in connection && connection.destroyed) {
		abort()
		return
	}
	if (!aborts.has(connection)) connection.once('close', () => aborts.get(connection)?.())
	aborts.set(connection, abort)
}
