/** Middleware that compresses as the package `compression` does: it replaces `writeHead`, `write` and `end`, and decides when the head is written. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createGzip, type Gzip } from 'node:zlib'

export function compressing(request: IncomingMessage, response: ServerResponse, next: () => void): void {
	let gzip: Gzip | undefined
	const { write, end, writeHead } = response
	const start = () => {
		if (response.headersSent || response.hasHeader('content-encoding')) return
		if (!request.headers['accept-encoding']?.includes('gzip')) return
		response.setHeader('content-encoding', 'gzip')
		response.appendHeader('vary', 'accept-encoding')
		response.removeHeader('content-length')
		gzip = createGzip()
		gzip.on('data', (chunk) => write.call(response, chunk, 'utf8'))
		gzip.on('end', () => end.call(response, undefined, 'utf8'))
	}
	Object.assign(response, {
		writeHead: (...args: unknown[]) => {
			start()
			return Reflect.apply(writeHead, response, args)
		},
		write: (chunk: Uint8Array, ...rest: unknown[]) => {
			if (!response.headersSent) response.writeHead(response.statusCode)
			return gzip ? gzip.write(chunk) : Reflect.apply(write, response, [chunk, ...rest])
		},
		end: (chunk: Uint8Array, ...rest: unknown[]) => {
			if (!response.headersSent) response.writeHead(response.statusCode)
			if (!gzip) return Reflect.apply(end, response, [chunk, ...rest])
			if (chunk) gzip.end(chunk)
			else gzip.end()
			return response
		},
	})
	next()
}
