import type { JSX } from 'preact'
import type { Overview } from '../../src/dashboard/contract.ts'
import type { Connection } from '../state/connection.ts'
import type { Preferences } from '../state/preferences.ts'
import type { Route, View } from '../state/url.ts'
import type { PageWords } from '../words/words.ts'
import { Link } from './bits.tsx'
import { Choice } from './fields.tsx'

interface Properties {
	readonly t: PageWords
	readonly overview: Overview | undefined
	readonly route: Route
	readonly connection: Connection
	readonly preferences: Preferences
	onChange(changed: Partial<Preferences>): void
	onHelp(): void
	onRefresh(): void
}

/** The views, without those that would always be empty. */
function viewsOf(overview: Overview): View[] {
	const hasOutbox = overview.outboxes.length > 0
	return [
		'overview',
		...(overview.isDatabaseOnly ? [] : (['calls'] as const)),
		...(hasOutbox ? (['messages', 'dead'] as const) : []),
		...(overview.webhooks.length > 0 ? (['webhooks'] as const) : []),
		...(hasOutbox ? (['audit'] as const) : []),
	]
}

const total = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0)

export function Header(props: Properties): JSX.Element {
	const { t, overview, route, connection, preferences, onChange } = props
	const counts: Partial<Record<View, number>> = overview
		? { calls: overview.failedCalls, dead: total(overview.outboxes.map(({ totals }) => totals.dead.count)) }
		: {}
	return (
		<header>
			<p class="brand">
				Yaoki{' '}
				<span class="reading" lang="ja">
					八起き
				</span>
			</p>
			<nav aria-label={t.navigation}>
				{overview &&
					viewsOf(overview).map((view) => (
						<Link key={view} view={view} isCurrent={isWithin(route.view, view)}>
							{t.views[view]}
							{(counts[view] ?? 0) > 0 && (
								<span class="number">{t.words.count({ count: counts[view] ?? 0, isCapped: false })}</span>
							)}
						</Link>
					))}
			</nav>
			<div class="tools">
				<span class={`connection ${connection}`} role="status" title={t.connectionHelp[connection]}>
					{t.connection[connection]}
				</span>
				<button type="button" onClick={props.onRefresh}>
					{t.refresh}
				</button>
				<details class="menu">
					<summary class="button">{t.settings}</summary>
					<div>
						<Choice
							label={t.language}
							value={preferences.language}
							options={{ en: 'English', ja: '日本語' }}
							onChange={(language) => onChange({ language })}
						/>
						<Choice
							label={t.theme}
							value={preferences.theme}
							options={t.themes}
							onChange={(theme) => onChange({ theme })}
						/>
						<Choice
							label={t.times}
							value={preferences.times}
							options={t.timeStyles}
							onChange={(times) => onChange({ times })}
						/>
					</div>
				</details>
				<button type="button" onClick={props.onHelp} aria-label={t.help}>
					?
				</button>
			</div>
		</header>
	)
}

const isWithin = (current: View, view: View): boolean =>
	current === view || (current === 'message' && view === 'messages')
