/**
 * A real grpc-js server whose calls play steps: `server.play([fail(14), reply({ text: 'a' })])`. All four kinds play the same steps,
 * so that tests can run over the kinds. It records what it saw. One server serves all tests of a file.
 *
 * @example
 * const server = await startUsersServer()
 * afterAll(() => server.close())
 * server.play([fail(14, { pushback: '10' }), reply({ text: 'a' })])
 */
import {
	Server,
	ServerCredentials,
	type ServerOptions,
	type sendUnaryData,
	type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { Exchange, type HandlerCall, type SeenCall } from './exchange.ts'
import { RecordedCalls } from './recorded-calls.ts'
import { reply, type Step } from './server-steps.ts'
import { type ItemInit, type MethodName, usersDefinition } from './users.ts'

export { fail, hang, reply, type Step, sendThenHang } from './server-steps.ts'

const METHODS: readonly MethodName[] = ['Get', 'List', 'Upload', 'Chat']

type Plays = Step | readonly Step[] | Partial<Record<MethodName, readonly Step[]>>

const isStepList = (plays: Plays): plays is readonly Step[] => Array.isArray(plays)

/** A handler as grpc-js calls it; `callback` is undefined for kinds with several responses. */
export type RawHandler = (call: HandlerCall, callback: sendUnaryData<ItemInit>) => unknown

export class UsersServer extends RecordedCalls<SeenCall> implements AsyncDisposable {
	#steps: readonly Step[] | Partial<Record<MethodName, readonly Step[]>> = [reply({})]
	readonly #handlers = new Map<MethodName, RawHandler>()
	readonly #server: Server
	readonly #failures: unknown[] = []
	#port = 0

	constructor(options: ServerOptions) {
		super()
		this.#server = new Server(options)
		const handlers: UntypedServiceImplementation = {}
		for (const method of METHODS)
			handlers[method] = (call: HandlerCall, callback: sendUnaryData<ItemInit>) => {
				this.#handle(method, call, callback)
			}
		this.#server.addService(usersDefinition, handlers)
	}

	async listen(): Promise<this> {
		this.#port = await new Promise<number>((resolve, reject) => {
			this.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
				error ? reject(error) : resolve(port),
			)
		})
		return this
	}

	/** `127.0.0.1:port` */
	get address(): string {
		return `127.0.0.1:${this.#port}`
	}

	/** The grpc-js server itself. */
	get grpcServer(): Server {
		return this.#server
	}

	/**
	 * Plays these steps from the next call on, for all methods in the order of arrival, or separately by method. The last one repeats.
	 * Forgets earlier calls and handlers.
	 */
	play(plays: Plays): void {
		this.calls = []
		this.#handlers.clear()
		this.#steps = typeof plays === 'function' ? [plays] : plays
	}

	/** Runs this handler instead of steps, without recording and without handling its errors. */
	handle(method: MethodName, handler: RawHandler): void {
		this.#handlers.set(method, handler)
	}

	/** Closes everything. Rejects with the error of a step that threw. */
	async close(): Promise<void> {
		this.#server.forceShutdown()
		this.giveUpWaiting()
		if (this.#failures.length > 0) throw this.#failures[0]
	}

	[Symbol.asyncDispose](): Promise<void> {
		return this.close()
	}

	protected override summary(): string {
		const calls = this.calls.map(({ method, isCancelled }) =>
			isCancelled ? `${method} (cancelled)` : method,
		)
		return `calls: ${calls.join(', ') || 'none'}`
	}

	#handle(method: MethodName, call: HandlerCall, callback: sendUnaryData<ItemInit> | undefined): void {
		const handler = this.#handlers.get(method)
		if (handler) {
			handler(call, callback ?? (() => {}))
			return
		}
		const step = this.#nextStep(method)
		const seen: SeenCall = {
			n: this.calls.length + 1,
			method,
			metadata: call.metadata,
			previousAttempts: call.metadata.get('grpc-previous-rpc-attempts')[0]?.toString(),
			deadline: Number(call.getDeadline()),
			messages: 'request' in call ? [call.request] : [],
			isHalfClosed: 'request' in call,
			isCancelled: false,
			isEnded: false,
		}
		this.calls.push(seen)
		this.#run(step, new Exchange(seen, call, callback, () => this.changed()))
		this.changed()
	}

	#nextStep(method: MethodName): Step {
		const steps = isStepList(this.#steps) ? this.#steps : (this.#steps[method] ?? [])
		const earlier = isStepList(this.#steps) ? this.calls : this.calls.filter((seen) => seen.method === method)
		return steps[Math.min(earlier.length, steps.length - 1)] ?? reply({})
	}

	#run(step: Step, exchange: Exchange): void {
		const fail = (error: unknown) => {
			this.#failures.push(error)
			exchange.fail(2, `a step of the test server failed: ${String(error)}`)
		}
		try {
			Promise.resolve(step(exchange)).catch(fail)
		} catch (error) {
			fail(error)
		}
	}
}

/** Starts a server that responds with an empty message until `play` is called. `options` are those of grpc-js, with interceptors. */
export function startUsersServer(options: ServerOptions = {}): Promise<UsersServer> {
	return new UsersServer(options).listen()
}
