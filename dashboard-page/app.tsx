/** The frame of the page: header, problems, the current view, dialogs. */
import type { JSX } from 'preact'
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Overview } from '../src/dashboard/contract.ts'
import { NowContext, type Shared, SharedContext } from './context.ts'
import { connect, type Live } from './data/live.ts'
import { useKeyboard } from './keyboard.ts'
import { ActionDialog } from './parts/action-dialog.tsx'
import { Boundary } from './parts/boundary.tsx'
import { Header } from './parts/header.tsx'
import { Help } from './parts/help.tsx'
import { StaleNote, Summary } from './parts/problems.tsx'
import type { ActionRequest } from './state/action.ts'
import type { Connection } from './state/connection.ts'
import { addOverview, type Histories } from './state/history.ts'
import { loadPreferences, type Preferences, savePreferences } from './state/preferences.ts'
import { formatRoute, parseRoute, type Route, routeTo, type View } from './state/url.ts'
import { AuditList } from './views/audit.tsx'
import { Calls } from './views/calls.tsx'
import { Dead } from './views/dead.tsx'
import { Message } from './views/message.tsx'
import { Messages } from './views/messages.tsx'
import { OverviewPage } from './views/overview.tsx'
import { Webhooks } from './views/webhooks.tsx'
import { LANGUAGES } from './words/languages.ts'

const VIEWS: Readonly<Record<View, () => JSX.Element>> = {
	overview: OverviewPage,
	calls: Calls,
	messages: Messages,
	message: Message,
	dead: Dead,
	webhooks: Webhooks,
	audit: AuditList,
}

/** A message stays this long. */
const MESSAGE_MS = 8_000

export function App(): JSX.Element {
	const [preferences, setPreferences] = useState(loadPreferences)
	const t = LANGUAGES[preferences.language]
	const [overview, setOverview] = useState<Overview>()
	const [histories, setHistories] = useState<Histories>({})
	const [connection, setConnection] = useState<Connection>('connecting')
	const [route, go, narrow] = useRoute()
	const [version, setVersion] = useState(0)
	const [request, setRequest] = useState<ActionRequest>()
	const [message, say] = useMessage()
	const [isHelpOpen, setHelpOpen] = useState(false)
	const live = useRef<Live>(undefined)
	const clock = useRef(0)
	const now = useServerTime(clock)

	useEffect(() => {
		live.current = connect((next) => {
			clock.current = next.at - Date.now()
			setOverview(next)
			setHistories((before) => addOverview(before, next))
		}, setConnection)
		return () => live.current?.close()
	}, [])
	const refresh = useCallback(() => {
		setVersion((before) => before + 1)
		void live.current?.refresh()
	}, [])
	useEffect(() => savePreferences(preferences), [preferences])
	useEffect(() => {
		const root = document.documentElement
		root.lang = preferences.language
		root.dataset['theme'] = preferences.theme
	}, [preferences])
	useTitle(overview, route, t.title, t.views[route.view])
	useKeyboard(preferences.shortcuts === 'on', {
		search: () => (route.view === 'messages' ? undefined : go('messages')),
		refresh,
		help: () => setHelpOpen(true),
	})

	const shared = useMemo<Shared | undefined>(
		() =>
			overview && {
				t,
				preferences,
				overview,
				histories,
				route,
				version,
				mayAct: overview.access === 'all',
				go,
				narrow,
				act: setRequest,
				say,
				refresh,
			},
		[t, preferences, overview, histories, route, version, go, narrow, say, refresh],
	)
	const change = (changed: Partial<Preferences>): void =>
		setPreferences((before) => ({ ...before, ...changed }))
	const CurrentView = VIEWS[route.view]

	return (
		<SharedContext.Provider value={shared}>
			<NowContext.Provider value={now}>
				<a class="skip" href="#content">
					{t.skip}
				</a>
				<Header
					t={t}
					overview={overview}
					route={route}
					connection={connection}
					preferences={preferences}
					onChange={change}
					onHelp={() => setHelpOpen(true)}
					onRefresh={refresh}
				/>
				<main id="content" tabIndex={-1}>
					{shared ? (
						<>
							<StaleNote connection={connection} />
							<div
								class={connection === 'reconnecting' || connection === 'denied' ? 'content old' : 'content'}
							>
								<Boundary t={t}>
									<Summary />
								</Boundary>
								<Boundary key={route.view} t={t}>
									<CurrentView />
								</Boundary>
							</div>
						</>
					) : (
						<p class="empty">{connection === 'denied' ? t.connectionHelp.denied : t.loading}</p>
					)}
				</main>
				{shared && request && <ActionDialog request={request} onClose={() => setRequest(undefined)} />}
				{isHelpOpen && (
					<Help t={t} preferences={preferences} onChange={change} onClose={() => setHelpOpen(false)} />
				)}
				<div class="message" role="status">
					{message && <p>{message}</p>}
				</div>
			</NowContext.Provider>
		</SharedContext.Provider>
	)
}

/** The route follows the URL: the back button changes both. */
function useRoute(): readonly [Route, Shared['go'], Shared['narrow']] {
	const [route, setRoute] = useState(() => parseRoute(location.search))
	useEffect(() => {
		const follow = (): void => setRoute(parseRoute(location.search))
		addEventListener('popstate', follow)
		return () => removeEventListener('popstate', follow)
	}, [])
	const shown = useRef(route.view)
	// Before the next frame, in which a shortcut may focus a field.
	useLayoutEffect(() => {
		if (shown.current === route.view) return
		shown.current = route.view
		// A screen reader continues at the new view.
		document.querySelector<HTMLElement>('main h1')?.focus()
		scrollTo(0, 0)
	}, [route])
	const go = useCallback<Shared['go']>((view, filter) => {
		const next = routeTo(view, filter)
		// The fragment is dropped, the path stays.
		history.pushState(null, '', `${location.pathname}${formatRoute(next)}`)
		setRoute(next)
	}, [])
	const { view } = route
	const narrow = useCallback<Shared['narrow']>(
		(filter) => {
			const next = routeTo(view, filter)
			history.replaceState(null, '', `${location.pathname}${formatRoute(next)}`)
			setRoute(next)
		},
		[view],
	)
	return [route, go, narrow]
}

function useMessage(): readonly [string, (text: string) => void] {
	const [message, setMessage] = useState('')
	useEffect(() => {
		if (message === '') return
		const timer = setTimeout(() => setMessage(''), MESSAGE_MS)
		return () => clearTimeout(timer)
	}, [message])
	return [message, setMessage]
}

/** The time by the clock of the server, every second. A hidden tab does not count. */
function useServerTime(clock: { readonly current: number }): number {
	const [now, setNow] = useState(Date.now())
	useEffect(() => {
		const timer = setInterval(() => {
			if (!document.hidden) setNow(Date.now())
		}, 1_000)
		return () => clearInterval(timer)
	}, [])
	return now + clock.current
}

/** The title says how many problems there are, so that a tab in the background shows it. */
function useTitle(overview: Overview | undefined, { view }: Route, title: string, name: string): void {
	const problems = overview?.problems.length ?? 0
	useEffect(() => {
		const place = view === 'overview' ? title : `${name} – ${title}`
		document.title = problems > 0 ? `(${problems}) ${place}` : place
	}, [problems, view, title, name])
}
