/** Small parts that every view uses. All texts from outside are shown as text, without control characters. */
import type { ComponentChildren, JSX } from 'preact'
import { sanitizeText } from '../../src/text/sanitize.ts'
import { useNow, useShared } from '../context.ts'
import { ApiError, isTokenError } from '../data/api.ts'
import { formatAbsolute, formatRelative } from '../state/time.ts'
import { formatRoute, routeTo, type View as ViewName } from '../state/url.ts'
import type { PageWords } from '../words/words.ts'

/** A time, relative or absolute as the reader has chosen; the other form is its title. */
export function Time({ at }: { at: number | null }): JSX.Element {
	const { t, preferences } = useShared()
	const now = useNow()
	if (at === null) return <>{t.none}</>
	const relative = formatRelative(t.words, at, now)
	const absolute = formatAbsolute(at)
	const [shown, title] = preferences.times === 'relative' ? [relative, absolute] : [absolute, relative]
	return (
		<time dateTime={new Date(at).toISOString()} title={title}>
			{shown}
		</time>
	)
}

/** Both forms of a time. */
export function FullTime({ at }: { at: number | null }): JSX.Element {
	const { t } = useShared()
	const now = useNow()
	if (at === null) return <>{t.none}</>
	return (
		<time dateTime={new Date(at).toISOString()}>
			{formatAbsolute(at)} <span class="muted">({formatRelative(t.words, at, now)})</span>
		</time>
	)
}

/** A duration of the overview. Null is unknown. */
export function Duration({ ms }: { ms: number | null }): JSX.Element {
	const { t } = useShared()
	return <>{ms === null ? t.none : t.words.duration(ms)}</>
}

/** A duration of the overview that grows until the next one. */
export function Growing({ ms }: { ms: number | null }): JSX.Element {
	const { t, overview } = useShared()
	const now = useNow()
	return <>{ms === null ? t.none : t.words.exactDuration(ms + Math.max(0, now - overview.at))}</>
}

/** The rest of a duration of the overview. */
export function Countdown({ ms }: { ms: number | null }): JSX.Element {
	const { t, overview } = useShared()
	const now = useNow()
	return <>{ms === null ? t.none : t.words.exactDuration(Math.max(0, ms - Math.max(0, now - overview.at)))}</>
}

export type Tone = 'good' | 'bad' | 'warn' | 'calm'

export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element {
	return <span class={`badge ${tone}`}>{children}</span>
}

/** A text from outside, such as an error. `isCode` shows it in the font of code. */
export function Outside({ text, isCode }: { text: string | null; isCode?: boolean }): JSX.Element {
	const { t } = useShared()
	if (text === null || text === '') return <>{t.none}</>
	const shown = sanitizeText(text)
	return isCode ? <code>{shown}</code> : <span class="outside">{shown}</span>
}

/** A button that copies a text. */
export function Copy({ text, label }: { text: string; label?: string }): JSX.Element {
	const { t, say } = useShared()
	const copy = async (event: Event): Promise<void> => {
		const button = event.currentTarget as HTMLElement
		try {
			await navigator.clipboard.writeText(text)
			say(t.copied)
		} catch {
			const source = button.parentElement?.querySelector('code')
			if (source) getSelection()?.selectAllChildren(source)
			say(t.notCopied)
		}
	}
	return (
		<button
			type="button"
			class="copy"
			aria-label={`${t.copy}: ${label ?? text}`}
			onClick={(event) => void copy(event)}
		>
			{t.copy}
		</button>
	)
}

/** An ID or a command that can be copied. */
export function Copyable({ text }: { text: string }): JSX.Element {
	return (
		<span class="copyable">
			<code>{sanitizeText(text)}</code> <Copy text={text} />
		</span>
	)
}

/** A link to a view of the page. A new tab shows the same. */
export function Link(props: {
	view: ViewName
	filter?: Readonly<Record<string, string | undefined>>
	class?: string
	isCurrent?: boolean
	children: ComponentChildren
}): JSX.Element {
	const { go } = useShared()
	const { view, filter = {} } = props
	const follow = (event: MouseEvent): void => {
		if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
		event.preventDefault()
		go(view, filter)
	}
	return (
		<a
			href={formatRoute(routeTo(view, filter))}
			class={props.class ?? ''}
			aria-current={props.isCurrent ? 'page' : undefined}
			onClick={follow}
		>
			{props.children}
		</a>
	)
}

export function Failed({ error }: { error: Error | undefined }): JSX.Element | null {
	const { t } = useShared()
	return error ? (
		<p class="failed" role="alert">
			{errorText(t, error)}
		</p>
	) : null
}

/** Says what to do where the reader can do something, and else what the server says. */
export function errorText(t: PageWords, error: unknown): string {
	if (isTokenError(error)) return t.tokenRejected
	if (error instanceof ApiError && error.status === 401) return t.connectionHelp.denied
	return sanitizeText((error as Error).message)
}

/** A figure with its name. */
export function Tile(props: {
	label: string
	title?: string
	tone?: Tone | undefined
	children: ComponentChildren
}): JSX.Element {
	return (
		<div class={`tile ${props.tone ?? ''}`} title={props.title}>
			<dt>{props.label}</dt>
			<dd>{props.children}</dd>
		</div>
	)
}

export function Section(props: {
	title: ComponentChildren
	note?: string | undefined
	actions?: ComponentChildren
	children: ComponentChildren
}): JSX.Element {
	return (
		<section class="card">
			<div class="head">
				<h2>{props.title}</h2>
				{props.actions}
			</div>
			{props.note && <p class="note">{props.note}</p>}
			{props.children}
		</section>
	)
}

/** A view other than the overview. Its heading receives the focus when it is opened. */
export function View(props: {
	title: ComponentChildren
	note?: string | undefined
	actions?: ComponentChildren
	children: ComponentChildren
}): JSX.Element {
	return (
		<section class="card">
			<div class="head">
				<h1 tabIndex={-1}>{props.title}</h1>
				{props.actions}
			</div>
			{props.note && <p class="note">{props.note}</p>}
			{props.children}
		</section>
	)
}
