/** The result of `--tune` as data, for `--json`: what `tune` returns, with estimates instead of every run. */
import { mergeRuns, type Replications } from '../../../sim/measure/replications.ts'
import { policyToTypeScript } from '../../../sim/scenario/source.ts'
import { splitRuns, type TuneOutput } from './tune-text.ts'

export function toDocument({ result, isInterrupted, scenario: _, incident, ...search }: TuneOutput): object {
	const { before, after, nearest, bestSingle, policy: _first, policies, ...found } = result
	const estimates = (runs: Replications) => estimatesOf(runs, result.scenarios)
	const sources = Object.entries(policies).map(([name, layers]) => [name, policyToTypeScript(layers)])
	return {
		...search,
		...found,
		policies,
		typescript: Object.fromEntries(sources),
		before: estimates(before),
		...(after && { after: estimates(after) }),
		...(nearest && { nearest: { ...nearest, after: nearest.after && estimates(nearest.after) } }),
		...(bestSingle && { bestSingle: { ...bestSingle, after: estimates(bestSingle.after) } }),
		...(incident && { incident: incident.data }),
		...(isInterrupted && { interrupted: { steps: result.steps.length } }),
	}
}

/** The estimates over all runs and, if there are several scenarios, those of each. */
function estimatesOf({ runs, ...summary }: Replications, scenarios: number): object {
	if (scenarios === 1) return summary
	const byScenario = splitRuns(runs, scenarios).map((own) => {
		const { runs: _, ...estimates } = mergeRuns(own)
		return estimates
	})
	return { byScenario }
}
