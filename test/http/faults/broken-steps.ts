/**
 * Responses that violate HTTP or are extremely large. They bypass node:http, which would not send them, so
 * the connection is unusable afterwards: the step closes it, or leaves that to the client.
 */
import { type Drip, dripping, type Head, type Step } from './steps.ts'

/** A chunked body whose second chunk has no size. The connection stays open: the client must detect it. */
export function chunkedGarbage({ status = 200 }: Head = {}): Step {
	return raw(
		`HTTP/1.1 ${status} Said\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\nno-size\r\nworld\r\n`,
	)
}

/** Bytes that are not HTTP. */
export function malformedHead(text = 'HTTP/banana two hundred\r\n\r\n'): Step {
	return raw(text)
}

/** A wrong content-length: larger (the body ends with a FIN) or smaller than the body. */
export function wrongLength({ declared = 100, body = 'half of it', status = 200 } = {}): Step {
	const text = `HTTP/1.1 ${status} Said\r\ncontent-length: ${declared}\r\n\r\n${body}`
	return {
		async play(exchange) {
			await raw(text).play(exchange)
			exchange.socket.end()
		},
	}
}

/** Sends header line by header line, endlessly or until it is stopped; then the response is 'late'. */
export function trickleHead(options: Drip = {}): Step {
	const { status = 200 } = options
	return {
		async play(exchange) {
			await exchange.bodyArrived
			await exchange.sendRaw(`HTTP/1.1 ${status} Said\r\n`)
			if (!(await dripping(options, (nth) => exchange.sendRaw(`x-${nth}: 1\r\n`)))) return
			await exchange.sendRaw('connection: close\r\ncontent-length: 4\r\n\r\nlate')
			exchange.finish()
			exchange.socket.end()
		},
	}
}

const CHUNK = Buffer.alloc(64 * 1024, 'x')

/** A large body (default 100 MB with status 500), sent as fast as the client reads. See `bytesWritten` of the request. */
export function hugeBody({ status = 500, bytes = 100_000_000 } = {}): Step {
	return {
		async play(exchange) {
			await exchange.bodyArrived
			await exchange.sendHead(status, { 'content-length': `${bytes}` })
			for (let rest = bytes; rest > 0; rest -= CHUNK.length) {
				if (!(await exchange.send(CHUNK.subarray(0, rest)))) return
			}
			exchange.response.end()
		},
	}
}

function raw(text: string): Step {
	return {
		async play(exchange) {
			await exchange.bodyArrived
			await exchange.sendRaw(text)
			exchange.finish()
		},
	}
}
