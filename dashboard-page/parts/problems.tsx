/** What is wrong, since when, what it does to callers, and what to press. */
import type { JSX } from 'preact'
import type { Problem } from '../../src/dashboard/contract.ts'
import { problemSentence } from '../../src/dashboard/words/sentence.ts'
import { useNow, useShared } from '../context.ts'
import type { Connection } from '../state/connection.ts'
import { placeOf, requestFor } from '../state/next-step.ts'
import { formatAbsolute } from '../state/time.ts'
import { ActionButton } from './action-button.tsx'
import { Badge, Link, Outside } from './bits.tsx'

/** On the overview every problem; on other views one line. */
export function Summary(): JSX.Element | null {
	const { t, overview, route } = useShared()
	const { problems } = overview
	const [first] = problems
	if (first === undefined)
		return route.view === 'overview' ? <p class="summary fine">{t.words.nothingWrong}</p> : null
	const errors = problems.filter(({ severity }) => severity === 'error').length
	const count = t.words.problemCount(errors, problems.length - errors)
	if (route.view !== 'overview')
		return (
			<p class={`summary line ${first.severity}`}>
				<Link view="overview">{count}</Link> <Outside text={problemSentence(t.words, first)} />
			</p>
		)
	return (
		<section class="summary" aria-labelledby="problems">
			<h2 id="problems">
				{t.problems}: {count}
			</h2>
			<ul>
				{problems.map((problem, index) => (
					// A problem has no identity.
					<li key={index} class={problem.severity} data-row="" tabIndex={-1}>
						<Badge tone={problem.severity === 'error' ? 'bad' : 'warn'}>
							{t.words.severities[problem.severity]}
						</Badge>
						<div>
							<p class="sentence">
								<Outside text={problemSentence(t.words, problem)} />
							</p>
							<p class="muted">{t.words.advice[problem.kind]}</p>
						</div>
						<div class="actions">
							<Next problem={problem} />
						</div>
					</li>
				))}
			</ul>
		</section>
	)
}

/** Where to look, and what to press. */
function Next({ problem }: { problem: Problem }): JSX.Element {
	const { t, overview } = useShared()
	const action = requestFor(problem, overview)
	const place = placeOf(problem)
	return (
		<>
			{place && (
				<Link view={place.view} filter={place.filter} class="button small">
					{place.view === 'calls'
						? t.showCalls
						: place.view === 'dead'
							? t.showDead
							: place.view === 'webhooks'
								? t.showEndpoints
								: t.showMessages}
				</Link>
			)}
			{action && <ActionButton request={action} />}
		</>
	)
}

/** Says that the figures are old, and why. */
export function StaleNote({ connection }: { connection: Connection }): JSX.Element | null {
	const { t, overview } = useShared()
	const now = useNow()
	if (connection !== 'reconnecting' && connection !== 'denied') return null
	return (
		<p class="summary line warning">
			<span role="alert">{t.connectionHelp[connection]}</span>{' '}
			{t.oldFigures(formatAbsolute(overview.at), t.words.ago(Math.max(0, now - overview.at)))}
		</p>
	)
}
