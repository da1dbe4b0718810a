/** The policies of the methods that share a method config and a circuit breaker, compiled into one pipeline. */
import type { Classifier } from '../../core/classify/classification.ts'
import type { CompiledPipeline } from '../../core/engine/call.ts'
import { Pipeline } from '../../core/engine/pipeline.ts'
import { LeafPolicy, type Policy } from '../../core/engine/policy.ts'
import type { PolicyListener } from '../../core/events/events.ts'
import { listenExcept } from '../../core/observe/listen-except.ts'
import type { EventFilter, ObservedPipeline } from '../../core/observe/observe.ts'
import { classifyStatus, GrpcStatusError } from '../status/status-error.ts'
import type { AttemptLayer } from './attempt-layer.ts'
import type { GrpcSettings } from './options.ts'

class AttemptPolicy extends LeafPolicy {
	constructor(layer: AttemptLayer) {
		super('attempt', {}, layer)
	}
}

export class MethodPipeline implements ObservedPipeline {
	readonly policy: Policy
	readonly compiled: CompiledPipeline
	/** The policies around the attempt. */
	readonly policies: readonly Policy[]
	/** Policies whose events another pipeline reports already. */
	readonly #reported: readonly unknown[]

	constructor(
		settings: GrpcSettings,
		policies: readonly Policy[],
		attemptLayer: AttemptLayer,
		reported: readonly (Policy | undefined)[],
	) {
		this.policies = policies
		const attempt = new AttemptPolicy(attemptLayer)
		const options = {
			name: settings.name ?? 'grpc',
			runtime: settings.runtime,
			classify: createClassifier(settings.classify),
		}
		this.policy = new Pipeline(options, [...this.policies, attempt])
		this.compiled = this.policy.compiled()
		this.#reported = reported
	}

	readonly listen = (listener: PolicyListener, filter?: EventFilter): (() => void) =>
		listenExcept(this.policy, this.#reported, listener, filter)
}

/** Core's classification of the status; the user's classifier comes first. */
function createClassifier(custom: GrpcSettings['classify']): Classifier {
	return (error, next) => {
		const withStatus = (failure: unknown) =>
			failure instanceof GrpcStatusError ? classifyStatus(failure) : next(failure)
		return custom ? custom(error, withStatus) : withStatus(error)
	}
}
