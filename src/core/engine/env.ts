import { classify, extendClassifier } from '../classify/classify.ts'
import { systemRuntime } from '../runtime/system.ts'
import type { LayerEnv } from './layer.ts'
import type { PolicyOptions } from './policy-options.ts'

/** What holds where no pipeline says otherwise. */
export const DEFAULT_ENV: LayerEnv = { runtime: systemRuntime, classify: (error) => classify(error) }

/** What holds inside a policy that was given these. */
export function inheritEnv(own: PolicyOptions, around: LayerEnv = DEFAULT_ENV): LayerEnv {
	if (!own.runtime && !own.classify) return around
	return { runtime: own.runtime ?? around.runtime, classify: extendClassifier(own.classify, around.classify) }
}
