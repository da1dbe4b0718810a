import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

export type Log = (...entries: unknown[]) => void

/** Handlers that behave the same with and without the adapter: they log what they observe. */
export const ALIKE: Record<string, (response: ServerResponse, log: Log) => unknown> = {
	'one end': (response, log) => {
		log(response.headersSent, response.writableEnded)
		log(response.end('body') === response)
		log(response.headersSent, response.writableEnded, response.finished, response.writableFinished)
	},
	'end without a body': (response) => response.end(),
	'end with a callback': async (response, log) => {
		await new Promise<void>((resolve) => response.end(() => resolve()))
		log(response.writableFinished)
	},
	'end with an encoding and a callback': async (response, log) => {
		await new Promise<void>((resolve) => response.end('e9', 'hex', () => resolve()))
		log(response.writableFinished)
	},
	'writes with encodings': (response, log) => {
		log(response.write('\u00e9'), response.write('\u00e9', 'latin1'), response.write('ff00', 'hex'))
		log(response.headersSent)
		response.end('AQID', 'base64')
	},
	'writes with callbacks': async (response, log) => {
		await new Promise<void>((resolve) => response.write('a', () => resolve()))
		await new Promise<void>((resolve) => response.write('b', 'utf8', () => resolve()))
		response.end('c')
		await once(response, 'finish')
		log('finish')
	},
	'a content-length and several writes': async (response) => {
		response.setHeader('Content-Length', 3)
		await new Promise<void>((resolve) => response.write('a', () => resolve()))
		response.write(Buffer.from('b'))
		response.end(new Uint8Array([99]))
	},
	'more than the content-length': (response, log) => {
		response.setHeader('content-length', 2)
		log(response.write('ab'))
		response.end()
	},
	'headers of all kinds': (response, log) => {
		response.setHeader('Link', ['<a>', '<b>'])
		response.appendHeader('link', '<c>')
		response.setHeader('X-Number', 7)
		response.setHeader('vary', 'accept')
		response.writeHead(201, 'Made', { Vary: 'accept-language', 'X-Other': ['1', '2'] })
		log(response.statusCode, response.statusMessage, response.getHeaders())
		response.end('x')
	},
	'a flat list of headers': (response) =>
		response.writeHead(201, ['Link', '<a>', 'Link', '<b>', 'content-type', 'text/plain']).end('x'),
	'writeHead twice': (response, log) => {
		response.writeHead(200)
		try {
			response.writeHead(201)
		} catch (error) {
			log((error as NodeJS.ErrnoException).code)
		}
		response.end('x')
	},
	'a header after the end': (response, log) => {
		response.end('x')
		try {
			response.setHeader('x-late', '1')
		} catch (error) {
			log((error as NodeJS.ErrnoException).code)
		}
	},
	flushHeaders: (response, log) => {
		response.flushHeaders()
		log(response.headersSent)
		response.end('x')
	},
	trailers: (response) => {
		response.setHeader('Trailer', 'X-Sum')
		response.addTrailers({ 'X-Sum': '1' })
		response.end('x')
	},
	'end twice': async (response, log) => {
		response.on('error', (error: NodeJS.ErrnoException) => log(error.code))
		response.end('first')
		log(response.end('second') === response)
		await once(response, 'finish')
	},
	'end twice without a body': async (response, log) => {
		response.end('first')
		await new Promise<void>((resolve) => response.end(() => resolve())).catch((error) => log(error.code))
	},
	'a write after the end': async (response, log) => {
		response.on('error', (error: NodeJS.ErrnoException) => log(error.code))
		response.end('first')
		log(response.write('second', (error) => log((error as NodeJS.ErrnoException | null)?.code)))
		await once(response, 'error')
	},
	'a chunk of a wrong type': (response, log) => {
		for (const call of [() => response.write(7), () => response.write(null), () => response.end({})])
			try {
				call()
			} catch (error) {
				log((error as NodeJS.ErrnoException).code)
			}
		response.end('x')
	},
	'a status without a body': (response) => {
		response.statusCode = 204
		response.write('ignored')
		response.end('ignored')
	},
	'a pipe': async (response, log) => {
		response.on('close', () => log('close'))
		Readable.from([Buffer.alloc(100_000, 'a'), Buffer.alloc(100_000, 'b')]).pipe(response)
		await once(response, 'finish')
		log('finish', response.writableEnded)
	},
	'a pipeline': async (response, log) => {
		async function* chunks() {
			for (let at = 0; at < 20; at++) yield Buffer.alloc(20_000, String(at % 10))
		}
		await pipeline(chunks, response)
		log(response.writableFinished)
	},
	backpressure: async (response, log) => {
		let waits = 0
		for (let at = 0; at < 10; at++)
			if (!response.write(Buffer.alloc(64_000, 'x'))) {
				if (response.writableNeedDrain) waits++
				await once(response, 'drain')
			}
		log(waits > 0)
		response.end()
	},
}
