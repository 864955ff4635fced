/* A name and a password, or a token, where the server wants one. */
import { Component, h } from 'preact';
import { text } from './row';

export class Login extends Component<{ tried: boolean; done(name: string, secret: string): void }, { name: string; secret: string }> {
  state = { name: '', secret: '' };
  render() {
    const { name, secret } = this.state;
    return <main class="login"><h1>Halite</h1>
      <form onSubmit={e => { e.preventDefault(); this.props.done(name, secret); }}>
        <label>name <input aria-label="name" autocomplete="username" value={name} onInput={e => this.setState({ name: text(e) })} /></label>
        <label>password <input aria-label="password" type="password" autocomplete="current-password" value={secret}
          onInput={e => this.setState({ secret: text(e) })} /></label>
        {this.props.tried && <p class="err" role="alert">These are not good.</p>}
        <button type="submit">log in</button><p><small>With a token: leave the name empty.</small></p></form></main>;
  }
}
