/**
 * Changes to policies as data, and the one function that applies them. The search, its evidence, worker
 * threads and readers of the evidence all use it, so a change cannot mean one thing where it is tried and
 * another where it is reported. Indices are those of the original policy: a change means the same whatever it
 * is combined with. An earlier version had closures that each copied the original layer, so the second of two
 * changes to one layer undid the first.
 */
import { invalidArgument } from '../../core/options/schema.ts'
import type { LayerKind, PolicyLayer, PolicyModel } from '../scenario/layers.ts'

/** One changed setting, or a layer that is added: an element of `changes` of a `TuneResult`. `applyChanges` applies a list of them. */
export interface TuneChange {
	/** Names the setting: `client[0].retry.maxRetries`. A layer that is added has no index: `client.timeoutMs`. */
	readonly path: string
	/** The name of the policy. */
	readonly policy: string
	/** The index of the layer in the original policy. A layer that is added is inserted before that layer. */
	readonly layer: number
	readonly kind: LayerKind
	/** Undefined where `to` is the whole layer: a timeout, or a layer that is added. */
	readonly option?: string | undefined
	/** True for a layer that is added. Default false. */
	readonly isAdded?: boolean | undefined
	/** The value before, also if it is a default. Undefined if there was none. */
	readonly from: unknown
	readonly to: unknown
}

/** Policies by name, as in a scenario. */
export type Policies = Readonly<Record<string, PolicyModel>>

/**
 * Returns the policies of a scenario with changes applied; the others are returned as they are. The order of
 * the changes matters only for layers that are added at the same place: the last is the outermost.
 *
 * @example
 * const { steps } = tune('client', scenario, options)
 * const tried = steps.map(({ changes }) => applyChanges(scenario.policies, changes))
 */
export function applyChanges(policies: Policies = {}, changes: readonly TuneChange[] = []): Policies {
	// The innermost layer is added first: a layer that is added shifts only layers that are already inserted.
	const additions = changes.filter(({ isAdded }) => isAdded).sort((one, other) => other.layer - one.layer)
	const settings = changes.filter(({ isAdded }) => !isAdded)
	const changed = new Map(Object.entries(policies))
	for (const change of [...settings, ...additions]) {
		const layers = layersOf(change.policy, Object.fromEntries(changed))
		changed.set(change.policy, apply(layers, change))
	}
	return Object.fromEntries(changed)
}

function apply(
	layers: readonly PolicyLayer[],
	{ path, layer, kind, option, isAdded, to }: TuneChange,
): readonly PolicyLayer[] {
	if (isAdded) return layers.toSpliced(layer, 0, { [kind]: to } as unknown as PolicyLayer)
	const current = layers[layer] as Readonly<Record<string, unknown>> | undefined
	if (!current || !Object.hasOwn(current, kind))
		invalidArgument(path, current, `a policy whose layer ${layer} is a ${kind}`)
	const value = option === undefined ? to : { ...(current[kind] as object), [option]: to }
	return layers.with(layer, { ...current, [kind]: value } as unknown as PolicyLayer)
}

/** Returns the layers of a policy that is given as data. */
export function layersOf(name: string, policies: Policies = {}): readonly PolicyLayer[] {
	const model = Object.hasOwn(policies, name) ? policies[name] : undefined
	if (model === undefined)
		invalidArgument(
			'policy',
			name,
			`the name of a policy in the scenario: ${Object.keys(policies).join(', ')}`,
		)
	if (typeof model === 'function') invalidArgument(`policies.${name}`, 'a function', 'layers as data')
	return model
}
