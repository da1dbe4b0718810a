/**
 * Real Connect servers, on HTTP/2 and on HTTP/1.1, whose calls play steps: `server.play([fail(14), reply({ text: 'a' })])`. All four kinds
 * play the same steps. It records what it saw. One server serves all tests of a file.
 */
import { createServer as createHttp1Server } from 'node:http'
import { createServer as createHttp2Server, type ServerHttp2Session } from 'node:http2'
import {
	Code,
	ConnectError,
	type ConnectRouter,
	type HandlerContext,
	type Interceptor,
} from '@connectrpc/connect'
import { connectNodeAdapter } from '@connectrpc/connect-node'
import { listen } from '../../support/listen.ts'
import { RecordedCalls } from '../support/recorded-calls.ts'
import { type ItemInit, type ItemMessage, type MethodName, Users } from '../support/users.ts'
import { type Exchange, reply, type SeenCall, type Step } from './steps.ts'

export { echo, fail, hang, reply, type SeenCall, type Step, sendThenHang } from './steps.ts'

export class ConnectServer extends RecordedCalls<SeenCall> {
	/** `http://127.0.0.1:port`, for HTTP/2. */
	http2Url = ''
	/** The same for HTTP/1.1. */
	http1Url = ''
	#steps: readonly Step[] = [reply({})]
	readonly #retired = new Set<string | null>()
	readonly #sessions = new Set<ServerHttp2Session>()
	readonly #http1
	readonly #http2

	constructor(interceptors: Interceptor[]) {
		super()
		const handler = connectNodeAdapter({ routes: (router) => this.#route(router), interceptors })
		this.#http1 = createHttp1Server(handler)
		this.#http2 = createHttp2Server(handler)
		this.#http2.on('session', (session) => {
			this.#sessions.add(session)
			session.once('close', () => this.#sessions.delete(session))
		})
	}

	async listen(): Promise<this> {
		this.http1Url = `http://127.0.0.1:${await listen(this.#http1)}`
		this.http2Url = `http://127.0.0.1:${await listen(this.#http2)}`
		return this
	}

	/** Plays these steps from the next call on, in the order of arrival. The last one repeats. Forgets earlier calls. */
	play(steps: Step | readonly Step[]): void {
		this.calls = []
		this.#steps = [steps].flat()
	}

	/** Requests of a test that is over may still arrive. Those with this value of `x-test` are not recorded. */
	retire(test: string): void {
		this.#retired.add(test)
	}

	/** Closes all connections, in the middle of what they do. */
	cut(): void {
		for (const session of this.#sessions) session.destroy()
		this.#http1.closeAllConnections()
	}

	async close(): Promise<void> {
		this.giveUpWaiting()
		const closed = [this.#http1, this.#http2].map((server) => new Promise((resolve) => server.close(resolve)))
		this.cut()
		await Promise.all(closed)
	}

	protected override summary(): string {
		const calls = this.calls.map(({ method, isCancelled }) => method + (isCancelled ? ' (cancelled)' : ''))
		return `calls: ${calls.join(', ') || 'none'}`
	}

	#route(router: ConnectRouter): void {
		router.service(Users, {
			get: (item, context) => last(this.#play('Get', of(item), context)),
			list: (item, context) => this.#play('List', of(item), context),
			upload: (items, context) => last(this.#play('Upload', items, context)),
			chat: (items, context) => this.#play('Chat', items, context),
		})
	}

	async *#play(
		method: MethodName,
		items: AsyncIterable<ItemMessage>,
		context: HandlerContext,
	): AsyncGenerator<ItemInit, void> {
		const { signal, requestHeader } = context
		if (this.#retired.has(requestHeader.get('x-test'))) throw new ConnectError('too late', Code.Aborted)
		const seen: SeenCall = {
			method,
			context,
			header: requestHeader,
			previousAttempts: requestHeader.get('grpc-previous-rpc-attempts') ?? undefined,
			timeoutMs: context.timeoutMs(),
			messages: [],
			isHalfClosed: false,
			isCancelled: false,
			isEnded: false,
		}
		const over = new Promise<void>((resolve) => {
			const onAbort = () => {
				if (!seen.isEnded) seen.isCancelled = true
				this.changed()
				resolve()
			}
			if (signal.aborted) onAbort()
			else signal.addEventListener('abort', onAbort)
		})
		const step = this.#steps[Math.min(this.calls.length, this.#steps.length - 1)] ?? reply({})
		this.calls.push(seen)
		this.changed()
		const requests = this.#record(seen, items)
		const exchange: Exchange = {
			seen,
			requests,
			over,
			async readAll() {
				for await (const _ of requests);
			},
		}
		try {
			yield* step(exchange)
		} finally {
			seen.isEnded = true
			this.changed()
		}
	}

	async *#record(seen: SeenCall, items: AsyncIterable<ItemMessage>): AsyncGenerator<ItemMessage> {
		for await (const item of items) {
			seen.messages.push(item)
			this.changed()
			yield item
		}
		seen.isHalfClosed = true
		this.changed()
	}
}

async function* of<T>(item: T): AsyncGenerator<T> {
	yield item
}

async function last(items: AsyncIterable<ItemInit>): Promise<ItemInit> {
	let result: ItemInit = {}
	for await (const item of items) result = item
	return result
}

/** Starts servers that respond with an empty message until `play` is called. */
export function startConnectServer(interceptors: Interceptor[] = []): Promise<ConnectServer> {
	return new ConnectServer(interceptors).listen()
}
