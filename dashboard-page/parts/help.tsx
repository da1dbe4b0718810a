import type { JSX } from 'preact'
import type { Preferences } from '../state/preferences.ts'
import type { PageWords } from '../words/words.ts'
import { Dialog } from './dialog.tsx'

export function Help(props: {
	t: PageWords
	preferences: Preferences
	onChange(changed: Partial<Preferences>): void
	onClose(): void
}): JSX.Element {
	const { t, preferences, onChange, onClose } = props
	return (
		<Dialog title={t.shortcuts} onClose={onClose}>
			<dl class="keys">
				{Object.entries(t.keys).map(([key, text]) => (
					<div key={key}>
						<dt>
							<kbd>{key}</kbd>
						</dt>
						<dd>{text}</dd>
					</div>
				))}
			</dl>
			<label class="check">
				<input
					type="checkbox"
					checked={preferences.shortcuts === 'on'}
					onChange={(event) => onChange({ shortcuts: event.currentTarget.checked ? 'on' : 'off' })}
				/>
				<span>{t.shortcuts}</span>
			</label>
			<div class="buttons">
				<button type="button" class="main" onClick={onClose}>
					{t.close}
				</button>
			</div>
		</Dialog>
	)
}
