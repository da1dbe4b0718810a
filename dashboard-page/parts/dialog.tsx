import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

/** A modal dialog. The browser keeps the focus inside, closes it with Esc and returns the focus to the button. */
export function Dialog(props: { title: string; onClose(): void; children: ComponentChildren }): JSX.Element {
	const dialog = useRef<HTMLDialogElement>(null)
	const id = useId()
	useEffect(() => {
		const opener = document.activeElement
		dialog.current?.showModal()
		return () => {
			dialog.current?.close()
			if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
		}
	}, [])
	return (
		<dialog
			ref={dialog}
			aria-labelledby={id}
			onCancel={(event) => {
				event.preventDefault()
				props.onClose()
			}}
		>
			<h2 id={id}>{props.title}</h2>
			{props.children}
		</dialog>
	)
}
