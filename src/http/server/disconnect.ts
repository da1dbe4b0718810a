/**
 * The signal that web requests have and Node's have not: aborted when the client goes away before it was answered. Only the response
 * knows for certain, for a request is "closed" as soon as its body has been read. Where only the request is at hand, its connection
 * is followed instead, with one listener for all requests that a connection carries one after the other.
 */

/** Something that tells when it is closed. */
interface Closing {
	once(event: 'close', listener: () => void): unknown
}

/** What is used of Node's `ServerResponse`, and so of Express's response. */
export interface NodeResponse extends Closing {
	statusCode: number
	/** Has all of it been handed to the system? Not every response says so. */
	readonly writableFinished?: boolean
	readonly writableEnded: boolean
	readonly closed?: boolean
	setHeader(name: string, value: string): unknown
	writeHead(status: number, ...rest: never[]): unknown
	end(body: string): unknown
}

const isClosing = (value: unknown): value is Closing =>
	typeof value === 'object' && value !== null && 'once' in value && typeof value.once === 'function'

/** Both, since HTTP/2's response calls a stream finished that was reset before anybody had ended it. */
const isAnswered = ({ writableEnded, writableFinished }: NodeResponse): boolean =>
	writableEnded && writableFinished !== false

/** What to do when a connection is lost: that of the request which came last, since the ones before it have been answered. */
const onLoss = new WeakMap<object, () => void>()

/** `isOver` is called when the response has been sent or will never be. */
export function disconnectSignal(
	request: { readonly socket?: object | null | undefined },
	response: NodeResponse | undefined,
	isOver: () => void,
): AbortSignal | undefined {
	const controller = new AbortController()
	const abort = () => controller.abort(new DOMException('the client has gone away', 'AbortError'))
	if (response) {
		const close = () => {
			if (!isAnswered(response)) abort()
			isOver()
		}
		if (response.closed) close()
		else response.once('close', close)
	} else if (isClosing(request.socket)) followConnection(request.socket, abort)
	else return undefined
	return controller.signal
}

function followConnection(connection: Closing, abort: () => void): void {
	if ('destroyed' in connection && connection.destroyed) {
		abort()
		return
	}
	if (!onLoss.has(connection)) connection.once('close', () => onLoss.get(connection)?.())
	onLoss.set(connection, abort)
}
