/** What the server interceptors share: bulkhead, pipelines, events and statistics of a server. */
import { Bulkhead, type BulkheadStats } from '../../core/bulkhead/bulkhead.ts'
import { Deadline } from '../../core/deadline/deadline.ts'
import type { BoundLayer, Call, CompiledPipeline, Layer } from '../../core/engine/call.ts'
import { runInterruptibly } from '../../core/engine/interruptible-runner.ts'
import type { Step } from '../../core/engine/layer.ts'
import { Pipeline } from '../../core/engine/pipeline.ts'
import { LeafPolicy, type Policy } from '../../core/engine/policy.ts'
import type { FindingCode } from '../../core/lint/finding.ts'
import type { InspectableObservation } from '../../core/observe/inspection.ts'
import type { ObservedPipeline } from '../../core/observe/observation.ts'
import { combineEnds, subscribeTo } from '../../core/observe/subscribe.ts'
import { withOptionPath } from '../../core/options/option-path.ts'
import type { Runtime } from '../../core/runtime/runtime.ts'
import { systemRuntime } from '../../core/runtime/system.ts'
import type { GrpcListener } from '../interceptor/grpc-interceptor.ts'
import { CANCELLED, OK, type StatusCode } from '../status/status.ts'
import { type GrpcServerOptions, type GrpcServerSettings, readGrpcServerOptions } from './options.ts'
import { type CallDriver, type CallHost, type IncomingCall, ServerCall } from './server-call.ts'

const FIXES: Partial<Record<FindingCode, string>> = {
	'no-timeout': 'Set defaultDeadlineMs.',
	'wait-outlasts-timeout': 'Set queueTimeoutMs of the bulkhead below the deadline.',
}

/**
 * Totals of a server, and the state of its bulkhead. `stats` of a `ResilientServerInterceptor` or a
 * `ResilientConnectServerInterceptor` returns it.
 */
export interface GrpcServerStats {
	/** Calls that have arrived. */
	readonly calls: number
	/** Calls that ended with another status than OK, passed deadlines and rejected calls included. */
	readonly failures: number
	/** Calls that the client has cancelled, or whose client has disconnected. */
	readonly cancelled: number
	/** Failures of calls whose handler was not started. */
	readonly rejected: number
	/** Calls whose handler runs and has not responded. */
	readonly inFlight: number
	/** Undefined without a bulkhead. */
	readonly bulkhead: BulkheadStats | undefined
}

const HEALTH_SERVICE = 'grpc.health.v1.Health'

/** The outermost layer: a call can end before its handler, and it learns of a rejection before the event. */
class ServerLayer implements Layer {
	readonly runner: typeof runInterruptibly = runInterruptibly

	enter(call: Call, bound: BoundLayer): Step {
		return call.enterLayer(bound)
	}

	leave(call: Call): Step {
		const serverCall = call.options?.extension
		if (!call.ok && serverCall instanceof ServerCall) serverCall.onFailure(call.value)
		return 'continue'
	}
}

class ServerPolicy extends LeafPolicy {
	constructor() {
		super('call', {}, new ServerLayer())
	}
}

export class ServerEngine implements CallHost {
	readonly settings: GrpcServerSettings
	readonly #bulkhead: Bulkhead | undefined
	readonly #runtime: Runtime
	readonly #limited: Policy
	readonly #unlimited: Policy
	readonly #counts = { calls: 0, failures: 0, cancelled: 0, rejected: 0, inFlight: 0 }
	/** How long a handler that outlives its call keeps its slot, unless the options say. */
	readonly #abandonAfterMs: number | undefined

	constructor(options: GrpcServerOptions, owner: string, abandonAfterMs?: number) {
		const settings = readGrpcServerOptions(options, owner)
		this.settings = settings
		this.#runtime = settings.runtime ?? systemRuntime
		this.#abandonAfterMs = abandonAfterMs
		this.#bulkhead = this.#createBulkhead()
		this.#unlimited = this.#createPipeline(undefined)
		this.#limited = this.#bulkhead ? this.#createPipeline(this.#bulkhead) : this.#unlimited
		if (settings.onEvent) this.subscribe(settings.onEvent)
	}

	/** Creates a call whose metadata has arrived. `begin` starts it. */
	open(incoming: IncomingCall, driver: CallDriver): ServerCall {
		this.#counts.calls++
		return new ServerCall(this, incoming, driver)
	}

	pipelineOf(service: string): CompiledPipeline {
		return (service === HEALTH_SERVICE ? this.#unlimited : this.#limited).compiled()
	}

	deadlineOf(remainingMs: number | undefined): Deadline | undefined {
		const { maxDeadlineMs, defaultDeadlineMs, marginMs } = this.settings
		const givenMs = remainingMs ?? defaultDeadlineMs
		if (givenMs === undefined) return undefined
		return Deadline.after(Math.max(0, Math.min(givenMs, maxDeadlineMs) - marginMs), {
			runtime: this.#runtime,
		})
	}

	onStart(): void {
		this.#counts.inFlight++
	}

	onEnd(code: StatusCode, isStarted: boolean): void {
		const counts = this.#counts
		if (isStarted) counts.inFlight--
		if (code === CANCELLED) counts.cancelled++
		else if (code !== OK) counts.failures++
		if (!isStarted && code !== CANCELLED) counts.rejected++
	}

	get stats(): GrpcServerStats {
		return { ...this.#counts, bulkhead: this.#bulkhead?.stats }
	}

	subscribe(listener: GrpcListener): () => void {
		return combineEnds(this.#pipelines.map((pipeline) => subscribeTo(pipeline, listener)))
	}

	observation(): InspectableObservation {
		return {
			kind: 'policy',
			identity: this,
			calls: (attach) => combineEnds(this.#pipelines.map(attach)),
			members: () => this.#policies().map((policy) => ['', policy] as const),
			stats: () => this.stats,
			inspection: {
				name: this.settings.name,
				sample: () => ({ policies: this.#policies(), totalTimeoutMs: this.#longestMs, timeoutMs: Infinity }),
				adaptFinding: (finding) => {
					const { code, fix } = finding
					// The deadline also ends the wait in the queue, so the default queueTimeoutMs is not a mistake.
					const isDefaultWait = this.settings.bulkhead?.queueTimeoutMs === undefined
					if (code === 'wait-outlasts-timeout' && isDefaultWait) return undefined
					return { ...finding, fix: FIXES[code] ?? fix }
				},
			},
		}
	}

	/** The longest duration of a call whose client sends no deadline, or one that is capped. */
	get #longestMs(): number {
		const { defaultDeadlineMs = Infinity, maxDeadlineMs } = this.settings
		return defaultDeadlineMs < Infinity && maxDeadlineMs < Infinity ? maxDeadlineMs : defaultDeadlineMs
	}

	get #pipelines(): ObservedPipeline[] {
		const policies = this.#limited === this.#unlimited ? [this.#limited] : [this.#limited, this.#unlimited]
		return policies.map((policy) => ({
			compiled: policy.compiled(),
			listen: (listener, filter) => policy.listen(listener, filter),
		}))
	}

	#policies(): readonly Policy[] {
		return this.#bulkhead ? [this.#bulkhead] : []
	}

	#createPipeline(bulkhead: Bulkhead | undefined): Policy {
		const { name } = this.settings
		const policies = [new ServerPolicy(), bulkhead].filter((policy) => policy !== undefined)
		return new Pipeline({ name, runtime: this.#runtime }, policies)
	}

	#createBulkhead(): Bulkhead | undefined {
		const { bulkhead } = this.settings
		const abandonAfterMs = this.#abandonAfterMs
		return bulkhead && withOptionPath('bulkhead', () => new Bulkhead({ abandonAfterMs, ...bulkhead }))
	}
}
