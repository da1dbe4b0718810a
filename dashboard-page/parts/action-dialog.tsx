/** Asks before an action: what it changes, why, and how to do the same on the command line. */
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Action, ActionPlan, ActionResult } from '../../src/dashboard/contract.ts'
import { sanitizeText } from '../../src/text/sanitize.ts'
import { useShared } from '../context.ts'
import { post } from '../data/api.ts'
import {
	type ActionRequest,
	asksFor,
	type Entered,
	isFinal,
	isInMemory,
	needsReason,
	toAction,
} from '../state/action.ts'
import { fromLocalInput, toLocalInput } from '../state/time.ts'
import { Copyable, Failed } from './bits.tsx'
import { Dialog } from './dialog.tsx'
import { Field } from './fields.tsx'

/** The plan follows what the user types, but not every key. */
const PLAN_DELAY_MS = 300

export function ActionDialog(props: { request: ActionRequest; onClose(): void }): JSX.Element {
	const { request, onClose } = props
	const { t, say, refresh } = useShared()
	const { action } = request
	const [entered, setEntered] = useState<Entered>({
		reason: '',
		canary: action === 'replay',
		perSecond: undefined,
		minutes: undefined,
		from: undefined,
	})
	const [isSending, setSending] = useState(false)
	const [error, setError] = useState<Error>()
	const change = (changed: Partial<Entered>): void => setEntered((before) => ({ ...before, ...changed }))
	const complete = request.asksFrom && entered.from === undefined ? undefined : toAction(request, entered)
	const { plan, planError } = usePlan(complete)
	const isBulk = request.selection !== undefined
	const isReady =
		complete !== undefined &&
		!isSending &&
		(!needsReason(action) || entered.reason.trim() !== '') &&
		(!isBulk || (plan !== undefined && plan.matching.count > 0))
	const button = t.buttons[action]

	const send = async (event: Event): Promise<void> => {
		event.preventDefault()
		if (!isReady || !complete) return
		setSending(true)
		setError(undefined)
		try {
			const { changed } = await post<ActionResult>('action', complete)
			say(t.changed(button, changed))
			onClose()
			refresh()
		} catch (reason) {
			setError(reason as Error)
			setSending(false)
		}
	}

	return (
		<Dialog title={`${button}: ${sanitizeText(request.subject)}`} onClose={onClose}>
			<form onSubmit={(event) => void send(event)}>
				<p>
					{t.effects[action]} {isFinal(action) && <strong>{t.final}</strong>}
				</p>
				<Options request={request} entered={entered} onChange={change} />
				<Field
					label={needsReason(action) ? `${t.reason} (${t.required})` : t.reason}
					value={entered.reason}
					help={t.reasonHelp}
					isRequired={needsReason(action)}
					onInput={(reason) => change({ reason })}
				/>
				{isInMemory(action) ? (
					<p class="note">{t.inMemory}</p>
				) : (
					complete && <Plan plan={plan} isBulk={isBulk} error={planError} />
				)}
				<Failed error={error} />
				<div class="buttons">
					<button type="button" onClick={onClose}>
						{t.cancel}
					</button>
					<button type="submit" class={isFinal(action) ? 'main danger' : 'main'} disabled={!isReady}>
						{t.confirm(button, isBulk && plan ? t.words.messages(plan.matching) : undefined)}
					</button>
				</div>
			</form>
		</Dialog>
	)
}

function Options(props: {
	request: ActionRequest
	entered: Entered
	onChange(changed: Partial<Entered>): void
}): JSX.Element {
	const { request, entered, onChange } = props
	const { t } = useShared()
	const number = (text: string): number | undefined => (Number(text) > 0 ? Number(text) : undefined)
	return (
		<>
			{asksFor(request, 'from') && (
				<Field
					label={t.from}
					type="datetime-local"
					value={entered.from === undefined ? '' : toLocalInput(entered.from)}
					help={t.fromHelp}
					isRequired
					onInput={(text) => onChange({ from: fromLocalInput(text) })}
				/>
			)}
			{asksFor(request, 'canary') && (
				<label class="check">
					<input
						type="checkbox"
						checked={entered.canary}
						onChange={(event) => onChange({ canary: event.currentTarget.checked })}
					/>
					<span>{t.canary}</span>
				</label>
			)}
			{asksFor(request, 'perSecond') && (
				<Field
					label={t.perSecond}
					type="number"
					min={1}
					value={entered.perSecond?.toString() ?? ''}
					help={t.perSecondHelp}
					onInput={(text) => onChange({ perSecond: number(text) })}
				/>
			)}
			{asksFor(request, 'minutes') && (
				<Field
					label={t.minutes}
					type="number"
					min={1}
					value={entered.minutes?.toString() ?? ''}
					help={t.minutesHelp}
					onInput={(text) => onChange({ minutes: number(text) })}
				/>
			)}
		</>
	)
}

function Plan(props: {
	plan: ActionPlan | undefined
	isBulk: boolean
	error: Error | undefined
}): JSX.Element {
	const { plan, isBulk, error } = props
	const { t } = useShared()
	if (error) return <Failed error={error} />
	if (!plan) return <p class="note">{t.planning}</p>
	return (
		<div class="plan">
			{isBulk && (
				<p>
					<strong>{t.planned(t.words.messages(plan.matching))}</strong>
					{plan.destinations.length > 0 && (
						<>
							{' '}
							{t.planDestinations}: {plan.destinations.map(sanitizeText).join(', ')}
						</>
					)}
				</p>
			)}
			{plan.waiting.length > 0 && <p class="warn">{t.waiting(plan.waiting.map(sanitizeText).join(', '))}</p>}
			<p class="command">
				{t.command}: <Copyable text={plan.command} />
			</p>
		</div>
	)
}

interface Planned {
	/** What the plan is about. */
	readonly about?: string | undefined
	readonly plan?: ActionPlan
	readonly planError?: Error
}

/** While another plan is loaded, the last one stays only if it is about the same: a reason changes its command. */
function usePlan(action: Action | undefined): Planned {
	const body = action && !isInMemory(action.action) ? JSON.stringify(action) : undefined
	const about = body && JSON.stringify({ ...action, reason: '' })
	const [state, setState] = useState<Planned>({})
	useEffect(() => {
		if (body === undefined) return setState({})
		const abort = new AbortController()
		const timer = setTimeout(() => {
			post<ActionPlan>('plan', JSON.parse(body), abort.signal).then(
				(plan) => setState({ about, plan }),
				(planError: Error) => {
					if (!abort.signal.aborted) setState({ about, planError })
				},
			)
		}, PLAN_DELAY_MS)
		return () => {
			clearTimeout(timer)
			abort.abort()
		}
	}, [body])
	return state.about === about ? state : {}
}
