/**
 * A server in virtual time, for rules about delays. grpc-js lets a load balancing policy choose the connection of each request. This one
 * chooses connections that exist only in memory and play steps. Everything above is grpc-js itself: client, interceptors, deadlines and its
 * own retries.
 *
 * @example
 * const server = useVirtualServer([fails(14), replies()])
 * const client = useUsersClient(server.address, { 'grpc.service_config': JSON.stringify(server.route(config)) })
 * const { done } = client.invoke('Get', {})
 * await server.advance(1_000)
 * expect(server.times).toEqual([0, 100])
 */
import { connectivityState, credentials, experimental, Metadata } from '@grpc/grpc-js'
import { onTestFinished, vi } from 'vitest'
import { VirtualRequest, type VirtualStep } from './virtual-request.ts'
import { NOT_SENT, replies } from './virtual-steps.ts'

const POLICY = 'yaoki_test_virtual'

type RequestListener = ConstructorParameters<typeof VirtualRequest>[3]

/**
 * The servers of this process by port. `vi.resetModules` in another file of the worker makes this module evaluate again, but not grpc-js,
 * which keeps tokens of throttling by address. So a port is never used twice in a process.
 */
const SERVERS = Symbol.for('yaoki.test.virtual-servers')
const registry = globalThis as { [SERVERS]?: Map<number, VirtualServer> }
registry[SERVERS] ??= new Map()
const servers = registry[SERVERS]

export class VirtualServer {
	/** The requests since the start or the last `play`, in the order in which they were sent. */
	requests: VirtualRequest[] = []
	/** The number of requests that clients wanted to send, with those that did not leave the client. */
	picks = 0
	#steps: readonly VirtualStep[] = []
	readonly #startedAt = Date.now()
	readonly port: number

	constructor() {
		// Nothing listens there.
		this.port = servers.size + 1
		servers.set(this.port, this)
	}

	/** Plays these steps from the next request on; the last one repeats. Forgets earlier requests. */
	play(steps: VirtualStep | readonly VirtualStep[]): void {
		this.requests = []
		this.picks = 0
		this.#steps = [steps].flat()
	}

	get address(): string {
		return `ipv4:127.0.0.1:${this.port}`
	}

	/** The times at which the requests were sent, in milliseconds since the start. */
	get times(): readonly number[] {
		return this.requests.map(({ at }) => at)
	}

	/** Milliseconds since the start. */
	get now(): number {
		return Date.now() - this.#startedAt
	}

	/** Returns a service config whose requests come here. */
	route(config: object): object {
		return { ...config, loadBalancingConfig: [{ [POLICY]: { port: this.port } }] }
	}

	/** Advances the clock by `ms`. Between two timers, everything runs that needs no timer; that is why vitest's own function is not enough. */
	async advance(ms: number): Promise<void> {
		let isOver = false
		setTimeout(() => {
			isOver = true
		}, ms)
		while (!isOver) {
			await runJobs()
			vi.advanceTimersToNextTimer()
		}
		// Those that are due now, but were set after the one above.
		vi.advanceTimersByTime(0)
		await runJobs()
	}

	/** The decision of the load balancing policy. */
	readonly pick = (): experimental.PickResult => {
		const step = this.#steps[Math.min(this.picks++, this.#steps.length - 1)] ?? replies()
		if (step === NOT_SENT.dropped) return failedPick(experimental.PickResultType.DROP)
		if (step === NOT_SENT.unconnected) return failedPick(experimental.PickResultType.TRANSIENT_FAILURE)
		const subchannel = {
			getConnectivityState: () => connectivityState.READY,
			getCallCredentials: () => credentials.createEmpty(),
			getRealSubchannel: () => subchannel,
			createCall: (metadata: Metadata, _host: string, method: string, listener: RequestListener) => {
				if (step === NOT_SENT.unstarted) throw new Error('the stream cannot be started')
				const request = new VirtualRequest(() => this.now, method, metadata, listener)
				this.requests.push(request)
				void Promise.resolve(request).then(step)
				return request.connection
			},
		}
		return {
			pickResultType: experimental.PickResultType.COMPLETE,
			subchannel: subchannel as unknown as experimental.SubchannelInterface,
			status: null,
			onCallStarted: null,
			onCallEnded: null,
		}
	}
}

const failedPick = (pickResultType: experimental.PickResultType): experimental.PickResult => ({
	pickResultType,
	subchannel: null,
	status: { code: 14, details: 'no connection', metadata: new Metadata() },
	onCallStarted: null,
	onCallEnded: null,
})

/** Runs what grpc-js and promises have scheduled without a timer. Nothing comes from outside the process, so a fixed number of turns is enough. */
async function runJobs(): Promise<void> {
	for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
}

class VirtualConfig implements experimental.TypedLoadBalancingConfig {
	readonly port: number

	constructor(port: number) {
		this.port = port
	}

	static createFromJson({ port }: { readonly port: number }): VirtualConfig {
		return new VirtualConfig(port)
	}

	getLoadBalancerName(): string {
		return POLICY
	}

	toJsonObject(): object {
		return { [POLICY]: { port: this.port } }
	}
}

class VirtualBalancer implements experimental.LoadBalancer {
	readonly #channel: experimental.ChannelControlHelper

	constructor(channel: experimental.ChannelControlHelper) {
		this.#channel = channel
	}

	updateAddressList(_: unknown, config: experimental.TypedLoadBalancingConfig): boolean {
		const server = servers.get((config as VirtualConfig).port)
		if (server) this.#channel.updateState(connectivityState.READY, server, null)
		return server !== undefined
	}

	exitIdle(): void {}

	resetBackoff(): void {}

	destroy(): void {}

	getTypeName(): string {
		return POLICY
	}
}

experimental.registerLoadBalancerType(POLICY, VirtualBalancer, VirtualConfig)

/** Creates a server that plays these steps, and replaces the clock until the end of the test. */
export function useVirtualServer(steps: VirtualStep | readonly VirtualStep[] = []): VirtualServer {
	vi.useFakeTimers({
		toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'],
	})
	onTestFinished(() => {
		vi.useRealTimers()
	})
	const server = new VirtualServer()
	server.play(steps)
	return server
}
