/**
 * Reads the body of a Node request for the fingerprint, and gives it back unchanged: the handler, or a parser
 * such as `express.json()`, reads the request as if nothing had happened.
 *
 * The chunks are taken where the HTTP parser hands them over, at `push`, so that the stream itself never
 * starts to flow and never ends: afterwards everything is pushed again. Reading the stream and passing
 * another one to the handler would not work with frameworks, which keep the request object.
 */
import { bodyConsumedError, IdempotencyRequestTooLargeError } from '../../engine/errors.ts'
import type { ParsedBody } from '../../key/fingerprint.ts'
import { BodyCollector } from '../../response/body-collector.ts'
import { type Chunk, copiedBytes, isChunk, type NodeRequest, type NodeSocket } from './node-types.ts'

/** `parsed` is the value of a parser that ran before, if there was one. */
export async function readRequestBody(
	request: NodeRequest,
	parsed: unknown,
	maxBytes: number,
): Promise<Uint8Array | ParsedBody | undefined> {
	if (!mayHaveBody(request)) return undefined
	if (request.readableEnded || request.readableDidRead) {
		if (parsed === undefined || isStream(parsed)) throw bodyConsumedError()
		return parsed instanceof Uint8Array ? parsed : { parsed }
	}
	if (Number(request.headers['content-length'] ?? 0) > maxBytes)
		throw new IdempotencyRequestTooLargeError(maxBytes)
	if (request.destroyed) throw new Error('The client has disconnected')
	const body = isReceived(request) ? peek(request, maxBytes) : await receive(request, maxBytes)
	keepUntilRead(request)
	return body
}

/** A parser that passes a stream on has not parsed anything. */
const isStream = (value: unknown): boolean =>
	typeof (value as { pipe?: unknown } | null | undefined)?.pipe === 'function'

/** HTTP/2 has no header that says whether there is a body. */
const mayHaveBody = ({ headers, httpVersionMajor }: NodeRequest): boolean =>
	headers['transfer-encoding'] !== undefined ||
	(httpVersionMajor === 2 ? headers['content-length'] !== '0' : Number(headers['content-length'] ?? 0) > 0)

/** HTTP/2's request is also complete if it was aborted. */
const isReceived = (request: NodeRequest): boolean => request.httpVersionMajor === 1 && request.complete

/** The whole body is in the stream's buffer. Returned in the same tick, it does not end the stream. */
function peek(request: NodeRequest, maxBytes: number): Uint8Array {
	const chunk = takeBuffered(request)
	if (chunk === undefined) return new Uint8Array(0)
	request.unshift(chunk)
	const bytes = copiedBytes(chunk, undefined)
	if (bytes.length > maxBytes) throw new IdempotencyRequestTooLargeError(maxBytes)
	return bytes
}

function takeBuffered(request: NodeRequest): Chunk | undefined {
	const chunk = request.readableLength > 0 ? request.read() : undefined
	return isChunk(chunk) ? chunk : undefined
}

function receive(request: NodeRequest, maxBytes: number): Promise<Uint8Array> {
	return new Promise((resolve, reject) => {
		const collected = new BodyCollector(maxBytes)
		const stop = () => {
			Reflect.deleteProperty(request, 'push')
			request.off('close', onBroken)
			request.off('error', onBroken)
		}
		const onBroken = () => {
			stop()
			reject(new Error('The body of the request ended early'))
		}
		const add = (chunk: Chunk, encoding: unknown) => {
			collected.add(copiedBytes(chunk, encoding))
			if (!collected.isTooLarge) return
			stop()
			// Otherwise the connection could not be used for the next request.
			request.resume()
			reject(new IdempotencyRequestTooLargeError(maxBytes))
		}
		const onEnd = () => {
			stop()
			const bytes = collected.joined() ?? new Uint8Array(0)
			if (bytes.length > 0) request.push(bytes)
			request.push(null)
			resolve(bytes)
		}
		const push = (chunk: unknown, encoding?: unknown) => {
			if (chunk === null) onEnd()
			else if (isChunk(chunk)) add(chunk, encoding)
			return true
		}
		request.once('close', onBroken)
		request.once('error', onBroken)
		const buffered = takeBuffered(request)
		Object.defineProperty(request, 'push', { value: push, configurable: true, writable: true })
		if (buffered !== undefined) add(buffered, undefined)
		// HTTP/2 sends nothing until the stream is read.
		if (!collected.isTooLarge) request.read(0)
	})
}

/**
 * Node destroys a request when its client disconnects, also if the handler has not read the body yet. Here
 * the handler continues, so the body must stay readable.
 */
function keepUntilRead(request: NodeRequest): void {
	const destroy = (error?: Error) => {
		const isReset = (error as { code?: unknown } | undefined)?.code === 'ECONNRESET'
		if (!isReset || request.readableEnded) return destroyNow(error)
		request.once('end', () => destroyNow(error))
		return request
	}
	const native = request.destroy
	const destroyNow = (error?: Error) => native.call(request, error)
	Object.defineProperty(request, 'destroy', { value: destroy, configurable: true, writable: true })
	if (request.httpVersionMajor === 1 && request.socket) keepReadable(request.socket)
}

const keptSockets = new WeakSet<object>()

/**
 * The parsers of Express 5 skip a request whose socket is not readable, and the handler would run without a
 * body. So a socket reads as readable after its end. Whether a request was read is seen at the request. Once
 * for each socket, because its requests would add listeners.
 */
function keepReadable(socket: NodeSocket): void {
	if (keptSockets.has(socket)) return
	keptSockets.add(socket)
	const keep = () =>
		Object.defineProperty(socket, 'readable', { value: true, configurable: true, writable: true })
	if (socket.readable === false) keep()
	socket.once('end', keep)
	socket.once('close', keep)
}
