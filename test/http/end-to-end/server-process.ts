/**
 * A service in its own process, with the deadline middleware of this package on the framework that its first argument names. To answer
 * a request, its handler calls another service, whose response takes as long as the request asks for: `ms`, and `retryMs` for a retry.
 */
import { createServer, type RequestListener, type Server } from 'node:http'
import express from 'express'
import fastify from 'fastify'
import {
	expressServerContext,
	fastifyServerContext,
	getServerContext,
	HttpError,
	nodeServerContext,
	ResilientHttpClient,
	type ServerContext,
} from '../../../src/http/index.ts'
import { listen } from '../../support/listen.ts'

/** What the process reports to the test. The id of a request is its path. */
export type Report =
	| { readonly type: 'listening'; readonly port: number }
	| { readonly type: 'started'; readonly id: string; readonly attempt: number }
	/** The handler has ended, with the code of its error if it failed. */
	| { readonly type: 'ended'; readonly id: string; readonly code?: unknown; readonly isAborted: boolean }
	/** The other service has the request of the handler, or has lost its caller before the response. */
	| { readonly type: 'inner-started' | 'inner-lost'; readonly id: string }

const [framework = '', port = '0'] = process.argv.slice(2)
const report = (what: Report): void => void process.send?.(what)

const inner = createServer((request, response) => {
	const { pathname: id, searchParams } = new URL(request.url ?? '', 'http://inner')
	report({ type: 'inner-started', id })
	const timer = setTimeout(() => response.end(JSON.stringify({ id })), Number(searchParams.get('ms')))
	response.on('close', () => {
		clearTimeout(timer)
		if (!response.writableEnded) report({ type: 'inner-lost', id })
	})
})
const client = new ResilientHttpClient({ baseUrl: `http://127.0.0.1:${await listen(inner)}` })

async function serve(url: string, context: ServerContext): Promise<unknown> {
	const { pathname: id, searchParams } = new URL(url, 'http://service')
	const { attempt } = context
	report({ type: 'started', id, attempt })
	const ms = searchParams.get(attempt > 0 ? 'retryMs' : 'ms')
	let code: unknown
	try {
		return await (await client.get(`${id}?ms=${ms}`, { yaoki: { parent: context } })).json()
	} catch (error) {
		code = Reflect.get(Object(error), 'code')
		throw error
	} finally {
		report({ type: 'ended', id, code, isAborted: context.signal?.aborted ?? false })
	}
}

const contextOf = (request: Parameters<typeof getServerContext>[0]): ServerContext => {
	const context = getServerContext(request)
	if (!context) throw new Error('the middleware has created no context')
	return context
}

const inNode = (): RequestListener =>
	nodeServerContext(async (request, response, context) => {
		response.end(JSON.stringify(await serve(request.url ?? '', context)))
	})

function inExpress(): RequestListener {
	const app = express()
	app.use(expressServerContext())
	app.use(async (req, res) => {
		res.json(await serve(req.url, contextOf(req)))
	})
	// As the guide recommends.
	app.use((error: unknown, _req: express.Request, res: express.Response, _next: express.NextFunction) => {
		res.status(error instanceof HttpError ? 502 : 500).json({ error: 'failed' })
	})
	return app
}

async function inFastify(): Promise<Server> {
	const app = fastify()
	await app.register(fastifyServerContext())
	app.get('/*', (request) => serve(request.url, contextOf(request)))
	app.setErrorHandler((error, _request, reply) =>
		reply.code(error instanceof HttpError ? 502 : 500).send({ error: 'failed' }),
	)
	await app.ready()
	return app.server
}

const server =
	framework === 'Fastify' ? await inFastify() : createServer(framework === 'Express' ? inExpress() : inNode())
server.listen(Number(port), '127.0.0.1', () =>
	report({ type: 'listening', port: (server.address() as { port: number }).port }),
)
process.once('disconnect', () => process.exit())
