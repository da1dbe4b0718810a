import type { JSX } from 'preact'
import { useShared } from '../context.ts'
import type { ActionRequest } from '../state/action.ts'
import { isFinal } from '../state/action.ts'

/** A button that opens the dialog of an action. Not shown to readers who may not act. */
export function ActionButton(props: { request: ActionRequest; label?: string }): JSX.Element | null {
	const { request, label } = props
	const { t, mayAct, act } = useShared()
	if (!mayAct) return null
	const text = label ?? t.buttons[request.action]
	return (
		<button
			type="button"
			class={isFinal(request.action) ? 'small danger' : 'small'}
			aria-label={`${text}: ${request.subject}`}
			onClick={() => act(request)}
		>
			{text}
		</button>
	)
}
