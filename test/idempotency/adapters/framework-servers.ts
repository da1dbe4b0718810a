/** The service of `servers.ts` on Express, Fastify and Hono. */
import { createServer, type RequestListener } from 'node:http'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
// @ts-expect-error: the types of Express 5 describe what is used here.
import express4 from 'express-4'
import fastify from 'fastify'
import { Hono } from 'hono'
import { onTestFinished } from 'vitest'
import { expressIdempotency, fastifyIdempotency, honoIdempotency } from '../../../src/idempotency/index.ts'
import { listening, type Start, type servers, toWebResponse } from './servers.ts'

const expressStart =
	(create: typeof express): Start =>
	(engine, service) => {
		const app = create()
		app.set('env', 'test')
		app.use(expressIdempotency(engine))
		app.use((req, res, next) => {
			const run = async () => {
				const reply = await service(engine.context(req), await buffer(req))
				if (reply instanceof Response) return
				const { status = 200, headers = [], body = null } = reply
				res.status(status)
				for (const [name, value] of headers) res.append(name, value)
				if (body === null) res.end()
				else if (typeof body === 'string') res.send(body)
				else if (body instanceof Uint8Array) res.end(body)
				else await pipeline(Readable.from(body), res)
			}
			run().catch(next)
		})
		return listening(createServer(app as RequestListener))
	}

const startFastify: Start = async (engine, service) => {
	const app = fastify({ forceCloseConnections: true, bodyLimit: engine.settings.maxRequestBytes })
	app.addContentTypeParser('application/octet-stream', { parseAs: 'buffer' }, (_, body, done) =>
		done(null, body),
	)
	app.addContentTypeParser('application/json', { parseAs: 'string' }, (_, body, done) => done(null, body))
	await app.register(fastifyIdempotency(engine))
	app.all('/*', async (request, reply) => {
		const body = Buffer.from((request.body as string | Buffer | undefined) ?? '')
		const answer = await service(engine.context(request), body)
		if (answer instanceof Response) return answer
		const { status = 200, headers = [], body: sent = null } = answer
		reply.code(status)
		for (const name of new Set(headers.map((header) => header[0])))
			reply.header(
				name,
				headers.filter((header) => header[0] === name).map((header) => header[1]),
			)
		const isPlain = sent === null || typeof sent === 'string' || sent instanceof Uint8Array
		return reply.send(isPlain ? sent : Readable.from(sent))
	})
	const url = await app.listen({ port: 0, host: '127.0.0.1' })
	onTestFinished(() => app.close())
	return url
}

const startHono: Start = (engine, service) => {
	const app = new Hono()
	app.use(honoIdempotency(engine))
	app.onError((_error, c) => c.text('failed', 500))
	app.all('/*', async (c) => {
		const body = Buffer.from(await c.req.arrayBuffer())
		return toWebResponse(await service(engine.context(c), body))
	})
	return listening(createServer(getRequestListener(app.fetch)))
}

export const frameworks: typeof servers = [
	['Express 4', expressStart(express4)],
	['Express 5', expressStart(express)],
	['Fastify', startFastify],
	['Hono', startHono],
]
